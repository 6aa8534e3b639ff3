import { HEADER, quote } from './generated-text.ts'

/** `generated/session.ts`: the session middlewares with the types of the definition, and nothing of it that runs. */
export function sessionFile(authModule: string): string {
  return `${HEADER}import type { SessionOf, UserOf } from '@sallyport/core/auth'
import { bindSession, type SessionContextOf } from '@sallyport/trpc'
import type authDefinition from ${quote(authModule)}

export const {
  createSensitiveSessionMiddleware,
  getSession,
  optionalSessionMiddleware,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} = bindSession<typeof authDefinition>()

/** A session with the columns that the auth definition adds. */
export type Session = SessionOf<typeof authDefinition>

/** Its user. */
export type User = UserOf<typeof authDefinition>

/** What {@link sessionMiddleware} adds to the context. */
export type SessionContext = SessionContextOf<typeof authDefinition>
`
}
