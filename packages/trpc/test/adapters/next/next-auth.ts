import { createNextAuth } from '@sallyport/trpc/next'
import { authConfig } from '../auth.config.ts'
import { auth, database } from '../context.ts'
import { appRouter } from '../router.ts'

export const handlers = createNextAuth({
  auth,
  config: authConfig,
  router: appRouter,
  endpoint: '/trpc',
  addressHeader: 'x-real-ip',
  createContext: (request) => ({ ...request, db: database.db }),
})
