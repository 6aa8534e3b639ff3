import { Hono } from 'hono'
import { getConnInfo, handle } from 'hono/aws-lambda'
import { respond } from './web.ts'

const app = new Hono()
app.all('*', (c) => respond(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }))

export const handler = handle(app)
