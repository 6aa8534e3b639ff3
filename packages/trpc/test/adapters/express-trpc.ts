import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { createExpressMiddleware } from '@trpc/server/adapters/express'
import express from 'express'
import { httpContext } from './context.ts'
import { appRouter } from './router.ts'
import { respond } from './web.ts'

const app = express()
const handle = getRequestListener((request, { incoming }) => respond(request, incoming.socket))
app.all(['/api/auth/*path', '/healthz'], handle)
app.use(
  '/trpc',
  createExpressMiddleware({
    router: appRouter,
    createContext: httpContext,
    responseMeta: authResponseMeta,
    ...authHandlerOptions,
  }),
)

export const server = createServer(app)
