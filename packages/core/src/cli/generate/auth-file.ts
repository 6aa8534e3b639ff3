import { HEADER, quote } from './generated-text.ts'

/** `generated/auth.ts`: what binds the definition to `getAuth(ctx)`. */
export function authFile(authModule: string): string {
  return `${HEADER}import { type BoundAuth, createAuthRuntime } from '@sallyport/trpc/runtime'
import authDefinition from ${quote(authModule)}

/** \`getAuth(ctx).api\`: the endpoints for a request. Whatever imports this module carries the auth definition with all its plugins. */
export const { getAuth } = createAuthRuntime(() => authDefinition)

/** What {@link getAuth} returns. */
export type Auth = BoundAuth<typeof authDefinition>
`
}
