import { bindSession } from '@sallyport/trpc'
import type authDefinition from './auth.ts'

/** The session middlewares with the types of the auth definition, and nothing of it that runs. */
export const {
  createSensitiveSessionMiddleware,
  getSession,
  optionalSessionMiddleware,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} = bindSession<typeof authDefinition>()
