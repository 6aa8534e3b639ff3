import { bindSession } from '@sallyport/trpc'
import type authDefinition from './auth.ts'

export const {
  getSession,
  sessionMiddleware,
  optionalSessionMiddleware,
  sensitiveSessionMiddleware,
  createSensitiveSessionMiddleware,
} = bindSession<typeof authDefinition>()
