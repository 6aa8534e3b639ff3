import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { fastify } from 'fastify'
import { httpContext } from './context.ts'
import { appRouter } from './router.ts'
import { respond } from './web.ts'

// A batch has all its paths in one parameter. By default, a request may take forever to arrive.
const routerOptions = { maxParamLength: 5_000 }
const app = fastify({ bodyLimit: MAX_PAYLOAD_BYTES, requestTimeout: 300_000, routerOptions })
await app.register(respond.fastify, { trpc: false })
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
