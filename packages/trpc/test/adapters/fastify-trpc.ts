import { getRequestListener } from '@hono/node-server'
import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { fastify } from 'fastify'
import { httpContext } from './context.ts'
import { appRouter } from './router.ts'
import { respond } from './web.ts'

// A batch has all its paths in one parameter.
const app = fastify({ bodyLimit: MAX_PAYLOAD_BYTES, routerOptions: { maxParamLength: 5_000 } })
const listener = getRequestListener((request, { incoming }) => respond(request, incoming.socket))

await app.register(async (routes) => {
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', (_request, _body, done) => done(null))
  for (const path of ['/api/auth/*', '/healthz'])
    routes.all(path, (request, reply) => {
      reply.hijack()
      void listener(request.raw, reply.raw)
    })
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
