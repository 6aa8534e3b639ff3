import fastifyWebsocket from '@fastify/websocket'
import { fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { fastify } from 'fastify'
import { createContext } from './context.ts'
import { appRouter } from './router.ts'

const app = fastify({ bodyLimit: 100_000, routerOptions: { maxParamLength: 5_000 } })

await app.register(fastifyWebsocket)
await app.register(fastifyTRPCPlugin, {
  prefix: '/trpc',
  useWSS: true,
  trpcOptions: { router: appRouter, createContext, maxBodySize: 100_000 },
})
app.get('/', () => ({ hello: 'world' }))

await app.listen({ port: Number(process.env.PORT) })
process.once('SIGTERM', () => app.close())
