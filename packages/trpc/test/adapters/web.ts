import { createHandler } from '@sallyport/trpc'
import { authConfig } from './auth.config.ts'
import { auth, httpContext } from './context.ts'
import { appRouter } from './router.ts'

/** Serves `/api/auth`, `/trpc`, and `/healthz`. Rate limits use the address of the connection. */
export const respond = createHandler({
  auth,
  config: authConfig,
  router: appRouter,
  createContext: httpContext,
})
