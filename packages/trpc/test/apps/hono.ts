import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { Hono } from 'hono'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const app = new Hono()
app.all('/trpc/*', (c) =>
  fetchRequestHandler({ req: c.req.raw, router: appRouter, createContext, endpoint: '/trpc' }),
)
app.get('/', (c) => c.text('Hello'))

const server = createServer(getRequestListener(app.fetch))
server.listen(Number(process.env.PORT))
