import { bindSession } from '@sallyport/trpc'
import type authDefinition from './auth.ts'

/** The session middlewares with the definition's types, but none of its code. */
export const {
  createSensitiveSessionMiddleware,
  getSession,
  optionalSessionMiddleware,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} = bindSession<typeof authDefinition>()
