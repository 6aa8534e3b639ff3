import { createAuthRuntime } from '@sallyport/trpc/action'
import authDefinition from './auth.ts'

/** `getAuth(ctx).api`: the endpoints for a request. A module that imports this one carries the auth definition with all its plugins. */
export const { getAuth } = createAuthRuntime(() => authDefinition)
