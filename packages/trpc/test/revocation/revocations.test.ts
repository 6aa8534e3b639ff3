import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDeck, createRandom } from '../../../core/test/hostile/random.ts'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { startSignInWorld } from '../../../core/test/support/sign-in-methods.ts'
import { ACCEPTED } from './answer.ts'
import { revokeAmidCalls, sum } from './call-around.ts'
import { callOverHttp, openSocket } from './calls.ts'
import { DATABASES, type SharedDatabase } from './databases.ts'
import { figuresOf } from './figures.ts'
import { STREAMS } from './live-streams.ts'
import { startLoad } from './load.ts'
import { LONG_RUN, PATIENT } from './node-settings.ts'
import { BANNED, KINDS, reasonAfter, revoke } from './revocations.ts'
import { signInByEveryMethod } from './sign-in-by-every-method.ts'
import { type SignedIn, signIn, signInAdmin } from './signed-in-users.ts'
import { type Nodes, startNodes } from './start-nodes.ts'
import { valuesAfter } from './stream-record.ts'

/** For both databases together. `pnpm test:revocation` runs 10,000. */
const REVOCATIONS = Number(process.env.REVOCATIONS ?? 30) / DATABASES.length
/** `pnpm test:revocation` opens 1,000, and makes 1,000 calls a second at the same time. */
const LIVE_STREAMS = Number(process.env.STREAMS ?? 20)
const CALLS_PER_SECOND = LIVE_STREAMS >= 1_000 ? 1_000 : 50
const TICK_MS = LIVE_STREAMS >= 1_000 ? 500 : 100
const REVOCATIONS_PER_SECOND = 50
const SEED = process.env.REVOCATION_SEED ?? 'sallyport'
/** The changes of one admin wait for each other. On a slow machine, a longer queue could time out. */
const REVOCATIONS_AT_ONCE = 8
/** Users who call while streams end. */
const BYSTANDERS = LIVE_STREAMS >= 1_000 ? 32 : 8

const world = await startSignInWorld()

describe.each(DATABASES)('$engine, two nodes', ({ engine, share }) => {
  let database: SharedDatabase
  let nodes: Nodes
  let admin: SignedIn
  const issuing = createIssuer(LONG_RUN)

  beforeAll(async () => {
    const issuer = await issuing
    database = await share(afterAll)
    admin = await signInAdmin(database.url, issuer)
    const { signingKeys } = issuer
    const settings = { ...PATIENT, databaseUrl: database.url, signingKeys, tickMs: TICK_MS }
    nodes = await startNodes(settings, settings, afterAll)
  })

  test(`${REVOCATIONS} revocations with calls on both nodes: none sent after the acknowledgment is accepted`, {
    timeout: 60_000 + REVOCATIONS * 300,
  }, async () => {
    const random = createRandom(SEED)
    const issuer = await issuing
    const people = { issuer, world, random, alwaysSignsIn: true }
    const victims = await signInByEveryMethod(database.url, REVOCATIONS, people)
    const title = `${engine}: REVOCATION_SEED=${SEED}`
    const { during } = await revokeAmidCalls(victims, { nodes, admin, database, random, title })
    // Concurrent calls ran both before and after the revocations.
    expect(during['200']).toBeGreaterThan(0)
    expect(sum(during)).toBeGreaterThan(during['200'] ?? 0)
  })

  test(`${LIVE_STREAMS} live streams, revoked under load from their node and others: each ends with its reason, and emits nothing after`, {
    timeout: 60_000 + LIVE_STREAMS * 300,
  }, async () => {
    const random = createRandom(SEED)
    const issuer = await issuing
    const [here, there] = nodes
    const people = await signInByEveryMethod(database.url, LIVE_STREAMS, { issuer, world, random })
    const revokers = createRandom(`${SEED} revokers`)
    const [drawStream, drawKind] = [createDeck(STREAMS, random), createDeck(KINDS, random)]
    const watchers = await Promise.all(
      people.map(async (person) => {
        const { stream: name, open } = drawStream()
        const kind = drawKind()
        const stream = await open(there, person)
        expect(await stream.begun).toEqual(ACCEPTED)
        return { person, name, stream, kind }
      }),
    )
    const bystanders = await signIn(database.url, BYSTANDERS, { issuer })
    const callers = await Promise.all(
      bystanders.map(async (person, i) => {
        const node = i % 2 === 0 ? here : there
        const socket = await openSocket(node, person)
        return i % 4 < 2 ? socket.call : () => callOverHttp(node, person)
      }),
    )
    const turns = createRandom(`${SEED} load`)
    const load = startLoad(CALLS_PER_SECOND, () => turns.pick(callers)())

    const startedAt = performance.now()
    async function revokeOne({ person, name, stream, kind }: (typeof watchers)[number]) {
      const node = revokers.pick(nodes)
      const status = await revoke(kind, person, { node, admin, database })
      const acknowledgedAt = Date.now()
      // Otherwise, the stream wouldn't end either.
      expect({ kind, status }).toEqual({ kind, status: 200 })
      // No node deletes a row that is deleted by hand.
      const from = node === there && kind !== 'row deleted by plain SQL' ? 'same process' : 'another node'
      return async () => {
        const { at, ...end } = await stream.ended
        const late = valuesAfter(stream, acknowledgedAt)
        return {
          kind,
          name,
          status,
          end,
          seen: stream.seen,
          from,
          late,
          ms: Math.max(0, at - acknowledgedAt),
        }
      }
    }
    const [plan, ends] = [watchers.entries(), [] as Awaited<ReturnType<typeof revokeOne>>[]]
    async function revokeInTurn(): Promise<void> {
      for (const [i, watcher] of plan) {
        await sleep(Math.max(0, (i * 1_000) / REVOCATIONS_PER_SECOND - (performance.now() - startedAt)))
        ends.push(await revokeOne(watcher))
      }
    }
    await Promise.all(Array.from({ length: REVOCATIONS_AT_ONCE }, revokeInTurn))
    const ended = await Promise.all(ends.map((end) => end()))
    // Anything that might still arrive after the end.
    await sleep(1_000)
    await load.stop()

    const values = ended.reduce((total, { seen }) => total + seen.emittedAt.length, 0)
    const timesFrom = (place: 'same process' | 'another node') =>
      figuresOf(ended.filter(({ from }) => from === place).map(({ ms }) => ms))
    console.log(`${engine}: REVOCATION_SEED=${SEED} from acknowledgement to end in ms:`, {
      'same process': timesFrom('same process'),
      'another node': timesFrom('another node'),
    })
    console.log(`${engine}:`, { streams: LIVE_STREAMS, values, calls: load.answers })
    for (const { kind, name, status, end, seen } of ended) {
      const isBanned = kind === 'ban'
      const { wrong, closeCode } = seen
      expect({ kind, name, status, end, wrong, closeCode }).toEqual({
        kind,
        name,
        status: 200,
        end: { status: isBanned ? 403 : 401, reason: reasonAfter(kind) },
        wrong: 0,
        // A banned user's socket closes after its streams.
        closeCode: isBanned && name === 'WebSocket' ? BANNED : null,
      })
    }
    for (const { stream } of watchers) stream.close()
    expect(Object.keys(load.answers)).toEqual(['200'])
    // Without notifications, most would emit for another second, until their sessions are read again. Counts
    // ticks, because a busy node skips some.
    const late = ended.flatMap(({ from, late }) => (from === 'another node' ? [late] : []))
    expect(figuresOf(late).p50).toBeLessThanOrEqual(500 / TICK_MS)
  })
})
