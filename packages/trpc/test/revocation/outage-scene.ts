import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../../../core/test/hostile/random.ts'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import type { SignInWorld } from '../../../core/test/support/sign-in-methods.ts'
import { ACCEPTED, type Answer, countIn } from './answer.ts'
import { callOverEvents, callOverHttp, openSocket } from './calls.ts'
import type { OnCleanup } from './cleanup.ts'
import { type SharedPostgres, sharePostgres } from './databases.ts'
import { STREAMS } from './live-streams.ts'
import { type Load, startLoad } from './load.ts'
import { LONG_RUN } from './node-settings.ts'
import { type PostgresProxy, startPostgresProxy } from './postgres-proxy.ts'
import { KINDS, type Kind, type Means, revoke } from './revocations.ts'
import { signInByEveryMethod } from './sign-in-by-every-method.ts'
import { type SignedIn, signInAdmin } from './signed-in-users.ts'
import { type Node, startNodes } from './start-nodes.ts'
import type { LiveStream } from './stream-record.ts'

/** A node, with the proxy between it and the database. */
export interface Place {
  readonly node: Node
  readonly proxy: PostgresProxy
}

/** A session with a live stream that the test will revoke. */
export interface Victim {
  readonly person: SignedIn
  readonly place: Place
  readonly stream: LiveStream
  /** Null until the revocation is acknowledged. */
  revoked: { readonly kind: Kind; readonly at: number } | null
}

/** Two nodes on one PostgreSQL server, and sessions that call both of them continuously. */
export interface Scene {
  readonly random: Random
  readonly database: SharedPostgres
  readonly places: readonly [Place, Place]
  readonly victims: readonly Victim[]
  readonly load: Load
  /** When each rejected call of a live session was sent. */
  readonly rejectedAt: { readonly place: Place; readonly at: number }[]
  /** Returns when the last accepted call of a live session to a node was sent. */
  lastAcceptedAt(place: Place): number
  /** Invalid results: other than 200 or 503 for a live session, or 200 for a revoked one. */
  readonly wrong: Readonly<Record<string, number>>
  /** Returns the longest response time, in milliseconds. */
  readonly longestMs: () => number
  /** Opens this many live streams on randomly chosen nodes, each with a separate session. */
  addVictims(count: number): Promise<void>
  /** Revokes the most recent victim, possibly without an acknowledgment. */
  revokeNext(kind?: Kind): Promise<void>
  /** Ends the load, and waits for the pending responses. */
  stop(): Promise<void>
}

const BYSTANDERS = 16
const UNAVAILABLE: Answer = { status: 503, reason: 'SESSIONS_UNAVAILABLE' }

/**
 * Starts the nodes and the calls.
 *
 * @param options.tickMs how often every stream emits
 * @param options.callsPerSecond calls by live and by revoked sessions
 * @param options.users how many can become victims
 */
export async function openScene(
  options: { tickMs: number; callsPerSecond: number; seed: string; users: number; world: SignInWorld },
  onCleanup: OnCleanup,
): Promise<Scene> {
  const random = createRandom(options.seed)
  const { world } = options
  const issuer = await createIssuer(LONG_RUN)
  const database = await sharePostgres(onCleanup)
  const people = await signInByEveryMethod(database.url, BYSTANDERS + options.users, {
    issuer,
    world,
    random,
  })
  const admin = await signInAdmin(database.url, issuer)
  const proxies = [
    await startPostgresProxy(database.url, onCleanup),
    await startPostgresProxy(database.url, onCleanup),
  ] as const
  const { signingKeys } = issuer
  const settingsFor = ({ url }: PostgresProxy) => ({ databaseUrl: url, signingKeys, tickMs: options.tickMs })
  const nodes = await startNodes(settingsFor(proxies[0]), settingsFor(proxies[1]), onCleanup)
  const places = [
    { node: nodes[0], proxy: proxies[0] },
    { node: nodes[1], proxy: proxies[1] },
  ] as const

  const callers = await Promise.all(
    people.splice(0, BYSTANDERS).map(async (person) => {
      const place = random.pick(places)
      const socket = await openSocket(place.node, person)
      const calls = [socket.call, () => callOverHttp(place.node, person)]
      return { place, call: () => turns.pick(calls)() }
    }),
  )

  const turns = createRandom(`${options.seed} load`)
  const victims: Victim[] = []
  const waiting: Victim[] = []
  const revoked: Victim[] = []
  const rejectedAt: Scene['rejectedAt'] = []
  const lastAcceptedAt = new Map<Place, number>()
  const wrong: Record<string, number> = {}
  let longestMs = 0

  async function callAsLive(): Promise<Answer> {
    const { place, call } = turns.pick(callers)
    const at = Date.now()
    const answer = await call()
    longestMs = Math.max(longestMs, Date.now() - at)
    if (isSame(answer, ACCEPTED)) {
      lastAcceptedAt.set(place, Math.max(at, lastAcceptedAt.get(place) ?? at))
      return answer
    }
    rejectedAt.push({ place, at })
    if (!isSame(answer, UNAVAILABLE)) countIn(wrong, answer, 'live: ')
    return answer
  }

  async function callAsRevoked(): Promise<Answer> {
    const { person } = turns.pick(revoked)
    const call = turns.pick([callOverHttp, callOverEvents])
    const answer = await call(turns.pick(places).node, person)
    const isRejected = [401, 403].includes(answer.status) || isSame(answer, UNAVAILABLE)
    if (!isRejected) countIn(wrong, answer, 'revoked: ')
    return answer
  }

  /** A node that has just started or recovered may still be unavailable on a busy machine. */
  async function openStream({ node }: Place, person: SignedIn): Promise<LiveStream> {
    for (;;) {
      const stream = await random.pick(STREAMS).open(node, person)
      const answer = await stream.begun
      if (isSame(answer, ACCEPTED)) return stream
      stream.close()
      if (!isSame(answer, UNAVAILABLE)) throw new Error(`A stream did not begin: ${answer.reason}`)
      await sleep(100)
    }
  }

  const load = startLoad(options.callsPerSecond, () =>
    revoked.length > 0 && turns.chance(0.3) ? callAsRevoked() : callAsLive(),
  )

  return {
    random,
    database,
    places,
    victims,
    load,
    rejectedAt,
    lastAcceptedAt: (place) => lastAcceptedAt.get(place) ?? Number.NEGATIVE_INFINITY,
    wrong,
    longestMs: () => longestMs,
    async addVictims(count) {
      if (people.length < count) throw new RangeError('Too few users have signed in')
      const added = await Promise.all(
        people.splice(0, count).map(async (person): Promise<Victim> => {
          const place = random.pick(places)
          return { person, place, stream: await openStream(place, person), revoked: null }
        }),
      )
      victims.push(...added)
      waiting.push(...added)
    },
    async revokeNext(kind = random.pick(KINDS)) {
      const victim = waiting.pop()
      if (victim === undefined) throw new RangeError('No session is left to revoke')
      const means: Means = { node: random.pick(places).node, admin, database }
      const status = await revoke(kind, victim.person, means).catch(() => null)
      if (status !== 200) return
      victim.revoked = { kind, at: Date.now() }
      revoked.push(victim)
    },
    stop: load.stop,
  }
}

function isSame(one: Answer, other: Answer): boolean {
  return one.status === other.status && one.reason === other.reason
}
