import { setTimeout as sleep } from 'node:timers/promises'
import { createDeck, createRandom } from '../../../core/test/hostile/random.ts'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import type { SignInWorld } from '../../../core/test/support/sign-in-methods.ts'
import { until } from '../../../core/test/support/until.ts'
import { type Answer, tally } from './answer.ts'
import { callOverHttp, openSocket } from './calls.ts'
import type { OnCleanup } from './cleanup.ts'
import type { SharedDatabase } from './databases.ts'
import { figuresOf } from './figures.ts'
import { STREAMS } from './live-streams.ts'
import { KINDS, type Kind, reasonAfter, revoke } from './revocations.ts'
import { signInByEveryMethod } from './sign-in-by-every-method.ts'
import { signInAdmin } from './signed-in-users.ts'
import { startNodes } from './start-nodes.ts'
import { type LiveStream, valuesAfter } from './stream-record.ts'

/** The effects of suspending a node for a while. */
export interface StopReport {
  /** Sessions that were revoked meanwhile. */
  readonly revoked: {
    /** Streams that ended with a wrong reason. */
    readonly endedWrongly: readonly string[]
    readonly msUntilEnd: ReturnType<typeof figuresOf>
    /** The most values that a stream emitted after the node resumed. */
    readonly mostValuesAfter: number
    /** Values that were emitted after the end. */
    readonly valuesAfterEnd: number
    /** Calls that were sent after the acknowledgment. */
    readonly calls: Readonly<Record<string, number>>
  }
  /** All other sessions. */
  readonly live: {
    readonly streamsGoingOn: number
    readonly ends: Readonly<Record<string, number>>
    readonly calls: Readonly<Record<string, number>>
  }
}

/** Streams on the suspended node. Every other session is revoked meanwhile. */
const COUNT = process.env.RESTARTS === undefined ? 20 : 40
const TICK_MS = 20

interface Watcher {
  readonly kind: Kind | null
  readonly stream: LiveStream
  readonly calls: readonly Promise<Answer>[]
}

/** Suspends a node as if its machine were suspended, revokes sessions on another, and resumes it. */
export async function suspendNode(
  database: SharedDatabase,
  {
    stoppedMs,
    seed,
    world,
    onCleanup,
  }: { stoppedMs: number; seed: string; world: SignInWorld; onCleanup: OnCleanup },
): Promise<StopReport> {
  const random = createRandom(seed)
  const issuer = await createIssuer()
  const people = await signInByEveryMethod(database.url, COUNT, { issuer, world, random })
  const admin = await signInAdmin(database.url, issuer)
  const settings = { databaseUrl: database.url, signingKeys: issuer.signingKeys, tickMs: TICK_MS }
  const [here, there] = await startNodes(settings, settings, onCleanup)
  const [drawStream, drawKind] = [createDeck(STREAMS, random), createDeck(KINDS, random)]
  const opened = await Promise.all(
    people.map(async (person, i) => {
      const kind = i % 2 === 0 ? drawKind() : null
      const stream = await drawStream().open(there, person)
      const socket = await openSocket(there, person)
      await stream.begun
      return { person, kind, stream, socket }
    }),
  )

  there.pause()
  const isOver = sleep(stoppedMs)
  const watchers = await Promise.all(
    opened.map(async ({ person, kind, stream, socket }): Promise<Watcher> => {
      if (kind !== null) {
        const status = await revoke(kind, person, { node: here, admin, database })
        if (status !== 200) throw new Error(`${kind} was answered ${status}`)
      }
      return { kind, stream, calls: [socket.call(), callOverHttp(there, person)] }
    }),
  )
  await isOver
  const resumedAt = Date.now()
  there.resume()

  const revoked = watchers.filter(({ kind }) => kind !== null)
  const live = watchers.filter(({ kind }) => kind === null)
  const goingOn = () =>
    live.filter(({ stream }) => !stream.seen.hasEnded && valuesAfter(stream, resumedAt) > 1).length
  const ends = await Promise.all(
    revoked.map(async ({ kind, stream }) => {
      const { at, reason } = await stream.ended
      // A lookup in flight when the node was stopped may have timed out.
      const isRight = kind !== null && (reason === reasonAfter(kind) || reason === 'SESSIONS_UNAVAILABLE')
      return { ms: at - resumedAt, wrong: isRight ? [] : [`${kind}: ${reason}`] }
    }),
  )
  await until(() => goingOn() > 0)
  // Anything that might still arrive after the end.
  await sleep(500)
  const answersTo = async (list: readonly Watcher[]) =>
    tally(await Promise.all(list.flatMap(({ calls }) => calls)))
  const endedLive = live.filter(({ stream }) => stream.seen.hasEnded)
  const report = {
    revoked: {
      endedWrongly: ends.flatMap(({ wrong }) => wrong),
      msUntilEnd: figuresOf(ends.map(({ ms }) => ms)),
      mostValuesAfter: Math.max(...revoked.map(({ stream }) => valuesAfter(stream, resumedAt))),
      valuesAfterEnd: revoked.reduce((sum, { stream }) => sum + stream.seen.wrong, 0),
      calls: await answersTo(revoked),
    },
    live: {
      streamsGoingOn: goingOn(),
      ends: tally(await Promise.all(endedLive.map(({ stream }) => stream.ended))),
      calls: await answersTo(live),
    },
  }
  for (const { stream, socket } of opened) {
    stream.close()
    socket.close()
  }
  return report
}
