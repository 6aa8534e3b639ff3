import { fastify } from 'fastify'
import { respond } from './web.ts'

const app = fastify()
await app.register(respond.fastify)

// Your own routes:
app.post('/webhook', async (request) => ({ received: request.body }))

await app.ready()
export const { server } = app
