import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, authResponseMeta, drain } from '@sallyport/trpc'
import { createExpressMiddleware } from '@trpc/server/adapters/express'
import express from 'express'
import { auth } from './auth.ts'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const app = express()
app.all(
  '/api/auth/*path',
  getRequestListener((request, { incoming }) => auth.handler(request, incoming.socket)),
)
app.use(
  '/trpc',
  createExpressMiddleware({
    router: appRouter,
    createContext,
    responseMeta: authResponseMeta,
    ...authHandlerOptions,
    maxBodySize: 100_000,
  }),
)
app.get('/', (_req, res) => res.send('Hello'))

const server = createServer(app)
await auth.ready()
server.listen(Number(process.env.PORT))
process.once('SIGTERM', () => drain({ auth, server }))
