/**
 * One of several nodes on one SQLite file: sign-in through `/api/auth` and an app's procedure, behind a
 * proxy. Reports its address, holds requests back until they are released, and reports its counts.
 */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { defineAuthConfig } from '@sallyport/core'
import { createAuth, defineAuth, openKeyFile } from '@sallyport/core/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import {
  authErrorData,
  authErrorMiddleware,
  authHandlerOptions,
  authResponseMeta,
  createAuthContext,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { Hono } from 'hono'
import * as z from 'zod'
import { createRandom } from '../../../core/test/hostile/random.ts'
import { KEEP_ALIVE } from '../support/keep-alive.ts'
import { passwords } from './count-passwords.ts'

const [baseUrl = '', databasePath = '', keyPath = '', limits = '', seed = ''] = process.argv.slice(2)

const failures: Record<string, number> = {}
const errors: string[] = []
const database = await openSqlite(databasePath)
const { jwks, signingKeys } = await openKeyFile(keyPath)
const config = defineAuthConfig({
  baseUrl,
  jwks,
  trustedProxies: ['loopback'],
  onFailure: ({ code, cause }) => void errors.push(`${code} ${cause}`),
  onEvent(event) {
    if (event.type === 'sign-in.failed') failures[event.reason] = (failures[event.reason] ?? 0) + 1
  },
})
const plugins = [emailPassword({ limits: JSON.parse(limits) })] as const
const auth = await createAuth(defineAuth({ config, signingKeys, plugins }), database)

const context = createAuthContext(config)
interface StormContext extends ReturnType<typeof context.http> {
  readonly request: Request
  readonly remoteAddress: string | undefined
}
const t = initTRPC.context<StormContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})

const router = t.router({
  signIn: t.procedure
    .use(authErrorMiddleware)
    .input(z.object({ email: z.string(), password: z.string() }))
    .mutation(async ({ ctx: { request, remoteAddress }, input }) => {
      const { userId } = await auth.api.signInEmail({ ...input, request, remoteAddress })
      return userId
    }),
})
export type StormRouter = typeof router

const random = createRandom(seed)
const heldBack: (() => void)[] = []
let isOpen = false

const app = new Hono()
app.use(async (_c, next) => {
  if (!isOpen)
    await new Promise<void>((letIn) => heldBack.splice(random.below(heldBack.length + 1), 0, letIn))
  await next()
})
app.all('/api/auth/*', (c) => auth.handler(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }))
app.all('/trpc/*', (c) => {
  const { address: remoteAddress } = getConnInfo(c).remote
  return fetchRequestHandler({
    endpoint: '/trpc',
    req: c.req.raw,
    router,
    createContext: (o) => ({ ...context.http({ ...o, remoteAddress }), request: c.req.raw, remoteAddress }),
    responseMeta: authResponseMeta,
    ...authHandlerOptions,
  })
})

const server = createServer(KEEP_ALIVE, getRequestListener(app.fetch))
server.listen({ port: 0, backlog: 4_096 }, () => {
  const address = server.address()
  if (typeof address === 'object') process.send?.(`http://localhost:${address?.port}`)
})
process.on('message', (message) => {
  if (message === 'let in') {
    isOpen = true
    for (const letIn of heldBack.splice(0)) letIn()
  }
  process.send?.({ heldBack: heldBack.length, passwords: passwords.checked, failures, errors })
})
process.once('disconnect', () => process.exit())
