import { getRequestListener } from '@hono/node-server'
import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { httpContext } from './context.ts'
import { appRouter } from './router.ts'
import { answer } from './web.ts'

// Fastify reads the bodies of calls, so the limit is its own. All paths of a batch are one parameter.
const app = fastify({ bodyLimit: MAX_PAYLOAD_BYTES, routerOptions: { maxParamLength: 5_000 } })
const listener = getRequestListener((request, { incoming }) => answer(request, incoming.socket.remoteAddress))

await app.register(async (routes) => {
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', (_request, _body, done) => done(null))
  const handle = (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack()
    void listener(request.raw, reply.raw)
  }
  routes.all('/api/auth/*', handle)
  routes.get('/healthz', handle)
})
await app.register(fastifyTRPCPlugin, {
  prefix: '/trpc',
  trpcOptions: {
    router: appRouter,
    createContext: httpContext,
    responseMeta: authResponseMeta,
    ...authHandlerOptions,
  },
})

await app.ready()
export const { server } = app
