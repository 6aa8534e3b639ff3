import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { createHandler, drain } from '@sallyport/trpc'
import { type Context, Hono } from 'hono'
import { authConfig } from './auth.config.ts'
import { auth } from './auth.ts'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const app = new Hono()
const respond = createHandler({
  auth,
  config: authConfig,
  router: appRouter,
  createContext,
  maxBodySize: 100_000,
})
const handle = (c: Context) => respond(c.req.raw, { remoteAddress: getConnInfo(c).remote.address })
app.all('/api/auth/*', handle)
app.all('/trpc/*', handle)
app.get('/', (c) => c.text('Hello'))

const server = createServer(getRequestListener(app.fetch))
await auth.ready()
server.listen(Number(process.env.PORT))
process.once('SIGTERM', () => drain({ auth, server }))
