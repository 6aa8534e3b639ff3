import { createAuthRuntime } from '@sallyport/trpc/action'
import authDefinition from './auth.ts'

/** `getAuth(ctx).api` has the endpoints for a request. A module that imports this one bundles all plugins. */
export const { getAuth } = createAuthRuntime(() => authDefinition)
