import { serve } from '@hono/node-server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { Hono } from 'hono'
import { httpContext } from './context.ts'
import { appRouter } from './router.ts'

const app = new Hono()
app.all('/trpc/*', (c) =>
  fetchRequestHandler({
    endpoint: '/trpc',
    req: c.req.raw,
    router: appRouter,
    createContext: httpContext,
  }),
)
serve({ fetch: app.fetch, port: 3000 }, ({ port }) => console.log(`http://localhost:${port}`))
