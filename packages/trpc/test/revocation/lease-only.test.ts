import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDeck, createRandom } from '../../../core/test/hostile/random.ts'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { startQuietProxy } from '../../../core/test/support/quiet-proxy.ts'
import { startSignInWorld } from '../../../core/test/support/sign-in-methods.ts'
import { ACCEPTED } from './answer.ts'
import { revokeAmidCalls } from './call-around.ts'
import { type SharedPostgres, sharePostgres } from './databases.ts'
import { figuresOf } from './figures.ts'
import { STREAMS } from './live-streams.ts'
import { LONG_RUN, PATIENT } from './node-settings.ts'
import { openDatabase } from './open-database.ts'
import { KINDS, reasonAfter, revoke } from './revocations.ts'
import { signInByEveryMethod } from './sign-in-by-every-method.ts'
import { type SignedIn, signInAdmin } from './signed-in-users.ts'
import { type Nodes, startNodes } from './start-nodes.ts'
import { lateMs } from './stream-record.ts'

/** `pnpm test:revocation` runs 10,000. */
const REVOCATIONS = Number(process.env.REVOCATIONS ?? 15)
/** `pnpm test:revocation` opens 1,000. */
const LIVE_STREAMS = Number(process.env.STREAMS ?? 20)
const SEED = process.env.REVOCATION_SEED ?? 'sallyport'
const LEASE_MS = 5_000

const world = await startSignInWorld()

/** Two nodes on a server whose triggers are disabled, behind a pooler that delivers no notification. */
describe('lease-only mode', () => {
  let database: SharedPostgres
  let nodes: Nodes
  let admin: SignedIn
  const issuing = createIssuer(LONG_RUN)

  beforeAll(async () => {
    database = await sharePostgres(afterAll)
    const issuer = await issuing
    // Creates the tables.
    await (await openDatabase(database.url)).close()
    admin = await signInAdmin(database.url, issuer)
    const proxy = await startQuietProxy(database.url)
    afterAll(proxy.close)
    const { signingKeys } = issuer
    const settings = { ...PATIENT, databaseUrl: proxy.url, signingKeys, tickMs: 500 }
    nodes = await startNodes(settings, settings, afterAll)
    for (const table of ['session', 'user'])
      await database.query(`alter table "${table}" disable trigger user`)
  })

  test(`${REVOCATIONS} revocations with calls on both nodes: none sent after the acknowledgment is accepted`, {
    timeout: 60_000 + REVOCATIONS * 300,
  }, async () => {
    const random = createRandom(SEED)
    const issuer = await issuing
    const victims = await signInByEveryMethod(database.url, REVOCATIONS, { issuer, world, random })
    const title = `lease-only: REVOCATION_SEED=${SEED}`
    await revokeAmidCalls(victims, { nodes, admin, database, random, title })
  })

  test(`${LIVE_STREAMS} live streams, revoked from another node: each ends within the lease, and emits nothing after`, {
    timeout: 60_000 + LIVE_STREAMS * 300,
  }, async () => {
    const random = createRandom(SEED)
    const [here, there] = nodes
    const issuer = await issuing
    const people = await signInByEveryMethod(database.url, LIVE_STREAMS, { issuer, world, random })
    const [drawStream, drawKind] = [createDeck(STREAMS, random), createDeck(KINDS, random)]
    const watchers = await Promise.all(
      people.map(async (person) => {
        const kind = drawKind()
        const stream = await drawStream().open(there, person)
        expect(await stream.begun).toEqual(ACCEPTED)
        return { person, stream, kind }
      }),
    )
    const ended = await Promise.all(
      watchers.map(async ({ person, stream, kind }) => {
        expect(await revoke(kind, person, { node: here, admin, database })).toBe(200)
        const acknowledgedAt = Date.now()
        const { at, ...end } = await stream.ended
        return {
          kind,
          end,
          seen: stream.seen,
          late: lateMs(stream, acknowledgedAt),
          ms: at - acknowledgedAt,
        }
      }),
    )
    console.log('lease-only: from acknowledgement to end in ms:', figuresOf(ended.map(({ ms }) => ms)))
    for (const { kind, end, seen, late } of ended) {
      expect({ end, wrong: seen.wrong }).toEqual({
        end: { status: kind === 'ban' ? 403 : 401, reason: reasonAfter(kind) },
        wrong: 0,
      })
      // No value is emitted once the lease of the last read has ended.
      expect(late).toBeLessThan(LEASE_MS)
    }
    for (const { stream } of watchers) stream.close()
  })
})
