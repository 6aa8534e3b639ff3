import { fastify } from 'fastify'
import { respond } from './web.ts'

// By default, a request may take forever to arrive.
const app = fastify({ requestTimeout: 300_000 })
await app.register(respond.fastify)

// Your own routes:
app.post('/webhook', async (request) => ({ received: request.body }))

await app.ready()
export const { server } = app
