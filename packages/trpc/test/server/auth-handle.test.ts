import type { Reason } from '@sallyport/core'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { type Client, callerFor, connectHttp, connectWebSocket, type HttpPath } from '../support/connect.ts'
import { type Outcome, outcomeOf } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { browser } from '../support/visitor.ts'

// Room for one verified token, so any other user's call makes Step 1 verify again.
const server = await startServer({ jwt: { cacheSize: 1 } })
afterEach(async () => {
  vi.restoreAllMocks()
  await server.clear()
})
afterAll(() => server.close())

const BATCHES = [
  'httpBatchLink over node',
  'httpBatchLink over fetch',
  'httpBatchStreamLink over node',
  'httpBatchStreamLink over fetch',
] as const satisfies readonly HttpPath[]

const reasonsOf = (outcomes: readonly Outcome[]): (Reason | null)[] =>
  outcomes.map(({ rejection }) => rejection?.auth?.reason ?? null)

describe('the cost of a request', () => {
  test.each(BATCHES)(
    'five calls in one request cost one lookup and one verification, over %s',
    async (transport) => {
      const ada = await server.auth.signIn()
      const { client, answers } = connectHttp(server, browser(ada), transport)
      const users = await Promise.all(Array.from({ length: 5 }, () => client.me.query()))
      expect(users).toEqual(Array(5).fill(ada.userId))
      expect(answers).toHaveLength(1)
      expect(server.auth.lookups.count).toBe(1)
      expect(server.keys.lookups).toBe(1)
    },
  )

  test.each(BATCHES)('each sensitive call of a request costs another lookup, over %s', async (transport) => {
    const { client, answers } = connectHttp(server, browser(await server.auth.signIn()), transport)
    await Promise.all([client.me.query(), client.me.query(), client.secret.query()])
    expect(server.auth.lookups.count).toBe(2)
    await Promise.all([client.me.query(), client.secret.query(), client.secret.query()])
    expect(server.auth.lookups.count).toBe(5)
    expect(answers).toHaveLength(2)
  })

  test('five requests cost five lookups', async () => {
    const { client } = connectHttp(server, browser(await server.auth.signIn()), 'httpLink over node')
    await Promise.all(Array.from({ length: 5 }, () => client.me.query()))
    expect(server.auth.lookups.count).toBe(5)
  })

  test('five calls on one WebSocket cost five lookups', async () => {
    const client = connectWebSocket(server, browser(await server.auth.signIn()))
    await Promise.all(Array.from({ length: 5 }, () => client.me.query()))
    expect(server.auth.lookups.count).toBe(5)
  })

  test('a public call costs nothing', async () => {
    const client = connectWebSocket(server, browser())
    await client.health.query()
    expect(server.auth.lookups.count).toBe(0)
    expect(server.keys.lookups).toBe(0)
  })

  test('five calls of one server-side caller cost one lookup', async () => {
    const caller = callerFor(server, browser(await server.auth.signIn()))
    await Promise.all(Array.from({ length: 5 }, () => caller.me()))
    expect(server.auth.lookups.count).toBe(1)
  })
})

describe('the WebSocket handshake', () => {
  test('is awaited by all first calls: Step 1 runs once, then Step 2 for each of them', async () => {
    const ada = await server.auth.signIn()
    const keys = Promise.withResolvers<void>()
    server.keys.delay = keys.promise
    const client = connectWebSocket(server, browser(ada))
    const calls = Promise.all([client.me.query(), client.me.query(), client.secret.query()])
    await soon(() => expect(server.keys.lookups).toBe(1))
    expect(await client.health.query()).toBe('ok')
    expect(server.stage.runs).toEqual(['health'])
    expect(server.auth.lookups.count).toBe(0)

    keys.resolve()
    expect(await calls).toEqual([ada.userId, ada.userId, ada.sessionId])
    expect(server.keys.lookups).toBe(1)
    expect(server.auth.lookups.count).toBe(3)
  })

  test('proves the identity for the whole connection, and every call still looks the session up', async () => {
    const ada = await server.auth.signIn()
    const grace = await server.auth.signIn()
    const client = connectWebSocket(server, browser(ada))
    await client.me.query()
    // Takes the only place in the cache of verified tokens.
    await connectHttp(server, browser(grace), 'httpLink over node').client.me.query()
    expect(server.keys.lookups).toBe(2)
    expect(await client.me.query()).toBe(ada.userId)
    expect(server.keys.lookups).toBe(2)
    expect(server.auth.lookups.count).toBe(3)

    await server.auth.db.deleteFrom('session').where('id', '=', ada.sessionId).execute()
    expect(reasonsOf([await outcomeOf(client.me.query())])).toEqual(['SESSION_NOT_FOUND'])
  })
})

describe("a request's cached session", () => {
  type Slow = (client: Client) => Promise<unknown>
  const mutations: { call: string; slow: Slow }[] = [
    { call: 'a call', slow: (client) => client.slowWrite.mutate() },
    { call: 'a sensitive call', slow: (client) => client.slowRotate.mutate() },
  ]

  describe.each(mutations)('$call after a slow middleware', ({ slow }) => {
    test.each(BATCHES)('is rejected if its own batch revoked the session, over %s', async (transport) => {
      const { client, answers } = connectHttp(server, browser(await server.auth.signIn()), transport)
      server.stage.closeGate()
      const outcomes = await Promise.all(
        [client.leave.mutate(), slow(client), slow(client)].map((call) => outcomeOf(call)),
      )
      expect(reasonsOf(outcomes)).toEqual([null, 'SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'])
      expect(answers).toMatchObject([{ status: transport.startsWith('httpBatchLink') ? 207 : 200 }])
      expect(server.stage.runs).toEqual(['leave'])
    })
  })

  /** Starts a batch of two queries. The second waits before the guard until the first is done. */
  async function startBatch(slowCall: 'slow' | 'slowSecret' = 'slow') {
    const session = await server.auth.signIn()
    const { client } = connectHttp(server, browser(session), 'httpBatchLink over node')
    server.stage.closeGate()
    const outcomes = Promise.all([outcomeOf(client.me.query()), outcomeOf(client[slowCall].query())])
    await soon(() => expect(server.stage.runs).toEqual(['me']))
    return {
      session,
      async finish() {
        server.stage.openGate()
        return reasonsOf(await outcomes)
      },
    }
  }

  test('serves the later calls of the request', async () => {
    const { finish } = await startBatch()
    expect(await finish()).toEqual([null, null])
    expect(server.auth.lookups.count).toBe(1)
  })

  test('is discarded on a revocation of the session', async () => {
    const { session, finish } = await startBatch()
    await server.auth.revoke(session)
    expect(await finish()).toEqual([null, 'SESSION_NOT_FOUND'])
  })

  test('is discarded on a ban of the user', async () => {
    const { session, finish } = await startBatch()
    await server.auth.ban(session)
    expect(await finish()).toEqual([null, 'ACCOUNT_BANNED'])
  })

  test('is discarded on any revocation, which costs a lookup and rejects no other user', async () => {
    const { finish } = await startBatch()
    await server.auth.revoke(await server.auth.signIn())
    expect(await finish()).toEqual([null, null])
    expect(server.auth.lookups.count).toBe(2)
  })

  test.each([
    { moment: 'before', first: 'revoke' },
    { moment: 'after', first: 'call' },
  ])('is discarded on a revocation during its lookup, $moment the second call', async (row) => {
    const session = await server.auth.signIn()
    const { client } = connectHttp(server, browser(session), 'httpBatchLink over node')
    const answered = Promise.withResolvers<void>()
    server.store.answer = async (find) => {
      const found = await find()
      await answered.promise
      return found
    }
    server.stage.closeGate()
    const outcomes = Promise.all([outcomeOf(client.me.query()), outcomeOf(client.slow.query())])
    await soon(() => expect(server.auth.lookups.count).toBe(1))
    const steps = [() => server.auth.revoke(session), async () => server.stage.openGate()]
    for (const step of row.first === 'revoke' ? steps : steps.reverse()) {
      await step()
      await new Promise((resolve) => setImmediate(resolve))
    }
    answered.resolve()
    expect(reasonsOf(await outcomes)).toEqual([null, 'SESSION_NOT_FOUND'])
  })

  test.each([
    { passed: 990, lookups: 1, reason: null },
    { passed: 1_001, lookups: 2, reason: 'SESSION_NOT_FOUND' },
  ])(
    "takes $lookups lookups after $passed ms, even if the deletion of the row wasn't announced",
    async (row) => {
      vi.spyOn(performance, 'now').mockReturnValue(5_000)
      const { session, finish } = await startBatch()
      await server.auth.db.deleteFrom('session').where('id', '=', session.sessionId).execute()
      vi.spyOn(performance, 'now').mockReturnValue(5_000 + row.passed)
      expect(await finish()).toEqual([null, row.reason])
      expect(server.auth.lookups.count).toBe(row.lookups)
    },
  )

  test('is never used by a sensitive call', async () => {
    const { session, finish } = await startBatch('slowSecret')
    await server.auth.db.deleteFrom('session').where('id', '=', session.sessionId).execute()
    expect(await finish()).toEqual([null, 'SESSION_NOT_FOUND'])
  })
})
