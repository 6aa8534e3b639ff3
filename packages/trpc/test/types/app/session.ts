// Written by "sallyport generate": change the auth definition and run that again.
import type { SessionOf, UserOf } from '@sallyport/core/auth'
import { bindSession, type SessionContextOf } from '@sallyport/trpc'
import type authDefinition from '../auth.ts'

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
