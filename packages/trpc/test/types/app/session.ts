import type { SessionOf, UserOf } from '@sallyport/core/auth'
import { bindSession, type SessionContextOf } from '@sallyport/trpc'
import type authDefinition from './auth.ts'

/** The session middlewares with the types of the auth definition, and nothing of it that runs. */
export const {
  createSensitiveSessionMiddleware,
  getSession,
  optionalSessionMiddleware,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} = bindSession<typeof authDefinition>()

export type Session = SessionOf<typeof authDefinition>
export type User = UserOf<typeof authDefinition>
export type SessionContext = SessionContextOf<typeof authDefinition>
