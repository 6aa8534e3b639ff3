import fastifyWebsocket from '@fastify/websocket'
import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, authResponseMeta, drain, webSocketOptions } from '@sallyport/trpc'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { fastify } from 'fastify'
import { authConfig } from './auth.config.ts'
import { auth } from './auth.ts'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const app = fastify({ bodyLimit: 100_000, routerOptions: { maxParamLength: 5_000 } })

const listener = getRequestListener((request, { incoming }) => auth.handler(request, incoming.socket))
await app.register(async (routes) => {
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', (_request, _body, done) => done(null))
  routes.all('/api/auth/*', (request, reply) => {
    reply.hijack()
    void listener(request.raw, reply.raw)
  })
})
await app.register(fastifyWebsocket, { options: webSocketOptions(authConfig) })
await app.register(fastifyTRPCPlugin, {
  prefix: '/trpc',
  useWSS: true,
  trpcOptions: {
    router: appRouter,
    createContext,
    responseMeta: authResponseMeta,
    ...authHandlerOptions,
    maxBodySize: 100_000,
  },
})
app.get('/', () => ({ hello: 'world' }))

await auth.ready()
await app.listen({ port: Number(process.env.PORT) })
process.once('SIGTERM', () => drain({ auth, sockets: app.websocketServer, server: app.server }))
