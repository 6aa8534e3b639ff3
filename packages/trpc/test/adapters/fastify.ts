import { getRequestListener } from '@hono/node-server'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { answer } from './web.ts'

const app = fastify()
const listener = getRequestListener((request, { incoming }) => answer(request, incoming.socket.remoteAddress))

await app.register(async (routes) => {
  // In this plugin alone no body is read by Fastify.
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', (_request, _body, done) => done(null))
  const handle = (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack()
    void listener(request.raw, reply.raw)
  }
  routes.all('/api/auth/*', handle)
  routes.all('/trpc/*', handle)
  routes.get('/healthz', handle)
})

// What follows is for routes of your own.
app.post('/webhook', async (request) => ({ received: request.body }))

await app.ready()
export const { server } = app
