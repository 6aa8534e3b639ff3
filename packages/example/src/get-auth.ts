// Written by "sallyport generate": change the auth definition and run that again.
import { type BoundAuth, createAuthRuntime } from '@sallyport/trpc/runtime'
import authDefinition from '../auth.ts'

/** `getAuth(ctx).api`: the endpoints for a request. Whatever imports this module carries the auth definition with all its plugins. */
export const { getAuth } = createAuthRuntime(() => authDefinition)

/** What {@link getAuth} returns. */
export type Auth = BoundAuth<typeof authDefinition>
