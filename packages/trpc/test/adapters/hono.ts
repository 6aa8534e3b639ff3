import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono } from 'hono'
import { respond } from './web.ts'

const app = new Hono()
const handle = (c: Context) => respond(c.req.raw, { remoteAddress: getConnInfo(c).remote.address })
app.all('/api/auth/*', handle)
app.all('/trpc/*', handle)
app.get('/healthz', handle)

export const server = createServer(getRequestListener(app.fetch))
