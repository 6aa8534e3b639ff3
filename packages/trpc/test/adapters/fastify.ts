import { getRequestListener } from '@hono/node-server'
import { fastify } from 'fastify'
import { respond } from './web.ts'

const app = fastify()
const listener = getRequestListener((request, { incoming }) => respond(request, incoming.socket))

await app.register(async (routes) => {
  // In this plugin, Fastify doesn't read bodies.
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', (_request, _body, done) => done(null))
  for (const path of ['/api/auth/*', '/trpc/*', '/healthz'])
    routes.all(path, (request, reply) => {
      reply.hijack()
      void listener(request.raw, reply.raw)
    })
})

// Your own routes:
app.post('/webhook', async (request) => ({ received: request.body }))

await app.ready()
export const { server } = app
