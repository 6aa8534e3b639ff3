import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Factor } from '@sallyport/core/internal/protocol'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import {
  authErrorData,
  authHandlerOptions,
  createAuthContext,
  createHandler,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
  webSocketOptions,
} from '@sallyport/trpc'
import {
  createTRPCClient,
  createWSClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  type TRPCLink,
  wsLink,
} from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { EventSource } from 'eventsource'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { socketWith } from '../support/connect.ts'
import { type Outcome, outcomeOf, rejectionFor } from '../support/outcome.ts'
import { openStream } from '../support/stream.ts'
import { browser } from '../support/visitor.ts'

const MAX_AGE = 60

const auth = await createTestAuth()
const { config, db } = auth

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})

/** The ids of the sessions whose calls reached a resolver. */
const accepted: string[] = []

function routerWith(factor: Factor) {
  const procedure = t.procedure
    .use(createSensitiveSessionMiddleware({ factor, maxAge: MAX_AGE }))
    .use(({ ctx, next }) => {
      accepted.push(ctx.session.id)
      return next()
    })
  return t.router({
    pay: procedure.mutation(({ ctx }) => ctx.session.id),
    watch: procedure.subscription(async function* ({ ctx }) {
      yield ctx.session.id
    }),
  })
}

const router = t.router({
  ping: t.procedure.mutation(() => 'pong'),
  totp: routerWith('totp'),
  passkey: routerWith('passkey'),
  'any-second': routerWith('any-second'),
})

const context = createAuthContext(config, { db })
const handle = createHandler({ auth, config, router, createContext: (o) => ({ ...context.http(o), db }) })
const server = createServer(getRequestListener((request, { incoming }) => handle(request, incoming.socket)))
const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(config) })
applyWSSHandler({ wss, router, createContext: (o) => ({ ...context.ws(o), db }), ...authHandlerOptions })

let host: string
beforeAll(async () => {
  await once(server.listen(0), 'listening')
  host = `localhost:${(server.address() as AddressInfo).port}/trpc`
})
afterAll(async () => {
  for (const socket of wss.clients) socket.terminate()
  server.closeAllConnections()
  server.close()
  await auth.close()
})

const connect = (link: TRPCLink<typeof router>) => createTRPCClient<typeof router>({ links: [link] })
const url = () => `http://${host}`

type Init = Omit<RequestInit, 'signal'> & { signal?: AbortSignal | null | undefined }
type Fetch = (input: RequestInfo | URL, init?: Init) => Promise<Response>

/**
 * Returns a way to call over HTTP, with the session's headers. The result has the statuses of the responses.
 */
function overHttp(
  createLink: (fetch: Fetch) => TRPCLink<typeof router>,
  call: (client: ReturnType<typeof connect>, factor: Factor) => Promise<Outcome>,
) {
  return (session: TestSession, factor: Factor) => async () => {
    const statuses: number[] = []
    const link = createLink(async (input, { signal = null, ...init } = {}) => {
      const headers = new Headers(init.headers)
      for (const [name, value] of Object.entries(browser(session).headers)) headers.set(name, value)
      const response = await fetch(input, { ...init, headers, signal })
      statuses.push(response.status)
      return response
    })
    return { ...(await call(connect(link), factor)), statuses }
  }
}

const TRANSPORTS: {
  transport: string
  /** The HTTP statuses of a call that is rejected. */
  statuses?: number[]
  open: (session: TestSession, factor: Factor) => () => Promise<Outcome & { statuses?: number[] }>
}[] = [
  {
    transport: 'a single HTTP call',
    statuses: [403],
    open: overHttp(
      (fetch) => httpLink({ url: url(), fetch }),
      (client, factor) => outcomeOf(client[factor].pay.mutate()),
    ),
  },
  {
    transport: 'a batch with a public call',
    statuses: [207],
    open: overHttp(
      (fetch) => httpBatchLink({ url: url(), fetch }),
      async (client, factor) => {
        const [pong, outcome] = await Promise.all([
          client.ping.mutate(),
          outcomeOf(client[factor].pay.mutate()),
        ])
        expect(pong).toBe('pong')
        return outcome
      },
    ),
  },
  {
    transport: 'a subscription over server-sent events',
    statuses: [200],
    open: overHttp(
      (fetch) => httpSubscriptionLink({ url: url(), EventSource, eventSourceOptions: () => ({ fetch }) }),
      async (client, factor) => {
        const stream = openStream(client[factor].watch)
        const outcome = await stream.first
        stream.unsubscribe()
        return outcome
      },
    ),
  },
  {
    transport: 'an open WebSocket',
    open(session, factor) {
      const WebSocket = socketWith(browser(session).headers)
      const socket = createWSClient({ url: `ws://${host}`, WebSocket })
      onTestFinished(() => socket.close())
      const client = connect(wsLink({ client: socket }))
      return () => outcomeOf(client[factor].pay.mutate())
    },
  },
]

/** Each factor with the methods that don't prove it, and one that does. */
const FACTORS: { factor: Factor; others: string[]; method: string }[] = [
  { factor: 'totp', others: ['pwd', 'passkey', 'recovery'], method: 'otp' },
  { factor: 'passkey', others: ['pwd', 'otp', 'recovery'], method: 'passkey' },
  { factor: 'any-second', others: ['pwd', 'oauth', 'email'], method: 'recovery' },
]

function prove({ sessionId }: TestSession, methods: string[]) {
  const now = Math.floor(auth.clock.now().getTime() / 1000)
  const amr = JSON.stringify(Object.fromEntries(methods.map((name) => [name, now])))
  return db.updateTable('session').set({ amr }).where('id', '=', sessionId).execute()
}

describe.each(TRANSPORTS)('over $transport', ({ statuses, open }) => {
  test.each(FACTORS)('$factor is required until the session has it', async ({ factor, others, method }) => {
    const session = await auth.signIn()
    const call = open(session, factor)
    await prove(session, others)
    const required = { factor, maxAgeSeconds: MAX_AGE }
    const rejection = rejectionFor('FACTOR_REQUIRED', { replay: true, required })
    expect(rejection.httpStatus).toBe(403)
    expect(await call()).toEqual({ rejection, ...(statuses && { statuses }) })
    expect(accepted).not.toContain(session.sessionId)
    await prove(session, [...others, method])
    const done = { data: session.sessionId, rejection: null }
    expect(await call()).toEqual({ ...done, ...(statuses && { statuses: [200] }) })
    expect(accepted).toContain(session.sessionId)
  })
})
