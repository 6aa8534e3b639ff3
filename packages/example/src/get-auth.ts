import { createAuthRuntime } from '@sallyport/trpc/action'
import authDefinition from './auth.ts'

/**
 * Provides the auth endpoints as `getAuth(ctx).api`. Importing this module imports the auth definition with
 * all plugins.
 */
export const { getAuth } = createAuthRuntime(() => authDefinition)
