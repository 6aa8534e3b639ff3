import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startSignInWorld } from '../../../core/test/support/sign-in-methods.ts'
import { until } from '../../../core/test/support/until.ts'
import { tally } from './answer.ts'
import { DATABASES } from './databases.ts'
import { figuresOf } from './figures.ts'
import { openScene, type Place, type Scene } from './outage-scene.ts'
import { BANNED, reasonAfter } from './revocations.ts'
import { lateMs } from './stream-record.ts'
import { suspendNode } from './suspend-node.ts'

/** `pnpm test:revocation` restarts 20 times. */
const RESTARTS = Number(process.env.RESTARTS ?? 1)
/** `pnpm test:revocation` also suspends a node on SQLite. */
const SUSPENDED = RESTARTS > 1 ? DATABASES : DATABASES.filter(({ engine }) => engine === 'PostgreSQL')
const SEED = process.env.REVOCATION_SEED ?? 'sallyport'
/** Longer than the lease. `pnpm test:revocation` stops a node for 10 seconds. */
const STOPPED_MS = Number(process.env.STOPPED_SECONDS ?? 6) * 1_000
/** Sessions that are revoked while no node is listening. */
const IN_THE_LOG = RESTARTS > 1 ? 10 : 6
const REVOCATIONS_IN_TURN = RESTARTS > 1 ? 60 : 15
const CALLS_PER_SECOND = RESTARTS > 1 ? 200 : 30
/** The maximum age of a stream's last check. */
const LEASE_MS = 5_000
/** The time until every user is accepted again. Only long runs check it: a busy machine may need longer. */
const RECOVERY_MS = 2_000
const UNAVAILABLE = '503 SESSIONS_UNAVAILABLE'

const world = await startSignInWorld()

// The tests mostly wait, so a short run is concurrent. In a long run, each test has the machine to itself.
const outage = RESTARTS > 1 ? test : test.concurrent

outage(
  `when connections are terminated and the server is shut down ${RESTARTS} times under load, live sessions get 200 or 503, and revoked ones never 200`,
  {
    timeout: 90_000 + RESTARTS * 20_000,
  },
  async ({ onTestFinished }) => {
    const users = IN_THE_LOG + (1 + RESTARTS) * REVOCATIONS_IN_TURN
    const scene = await openScene(
      { tickMs: 500, callsPerSecond: CALLS_PER_SECOND, seed: SEED, users, world },
      onTestFinished,
    )
    const { places, random, database } = scene

    await allConnected(scene)
    // Just now, so the lease leaves them time.
    await scene.addVictims(IN_THE_LOG)
    await terminate(scene)
    // The nodes get no notification of these and must find them in the log.
    for (let i = 0; i < IN_THE_LOG; i++) await scene.revokeNext('row deleted by plain SQL')
    for (const { proxy } of places) proxy.mend()
    await allConnected(scene)
    await scene.addVictims(REVOCATIONS_IN_TURN)
    await revokeInTurn(scene)
    const first = revokedOf(scene)
    const ended = await Promise.all(
      first.map(async ({ stream, revoked }) => Math.max(0, (await stream.ended).at - revoked.at)),
    )
    const fromTheLog = figuresOf(ended.slice(0, IN_THE_LOG))

    const rejectedWhileHeldUp = await holdUpLookups(scene)

    const [recoveries, late]: [number[], number[]] = [[], []]
    for (let restart = 0; restart < RESTARTS; restart++) {
      await scene.addVictims(REVOCATIONS_IN_TURN)
      const before = revokedOf(scene).length
      const revocations = revokeInTurn(scene)
      await until(() => revokedOf(scene).length > before)
      await sleep(random.below(500))
      const crashedAt = Date.now()
      await database.server.crash()
      await sleep(random.below(1_000))
      await database.server.start()
      for (const place of places) {
        const connectedAt = await connectedAfter(place, crashedAt)
        await until(() => scene.lastAcceptedAt(place) > connectedAt)
        if (RESTARTS > 1) await sleep(Math.max(0, connectedAt + RECOVERY_MS + 500 - Date.now()))
        const rejected = rejectedAfter(scene, place, crashedAt).map((at) => at - connectedAt)
        recoveries.push(Math.max(0, ...rejected))
        late.push(...rejected.filter((ms) => ms > RECOVERY_MS))
      }
      await revocations
    }
    await scene.stop()

    const revoked = revokedOf(scene)
    console.log(`${RESTARTS} restarts: REVOCATION_SEED=${SEED}`, {
      answers: scene.load.answers,
      wrong: scene.wrong,
      revoked: revoked.length,
      unacknowledged: scene.victims.length - revoked.length,
      msFromAcknowledgementToEnd: { fromTheLog, notified: figuresOf(ended.slice(IN_THE_LOG)) },
      rejectedWhileHeldUp,
      msFromConnectToLastRejection: figuresOf(recoveries),
      longestAnswerMs: Math.round(scene.longestMs()),
      streams: tally(await endsOf(scene)),
      attempts: places.map(({ proxy }) => proxy.attempts),
    })
    expect(scene.wrong).toEqual({})
    if (RESTARTS > 1) expect(late).toEqual([])
    expect(scene.rejectedAt.length).toBeGreaterThan(0)
    expect(first.length).toBeGreaterThan(0)
    // Sessions are read again after 2 seconds, which ends them anyway. A busy machine can be that slow.
    if (RESTARTS > 1) expect(fromTheLog.p50).toBeLessThan(1_500)
    expect(rejectedWhileHeldUp).toBeGreaterThan(0)
    expect(revoked.length).toBeGreaterThan(first.length)
    await expectEnds(revoked)
    // A node with a pool of ten makes at most thirteen connections.
    for (const { proxy } of places) expect(proxy.attempts.mostAtOnce).toBeLessThanOrEqual(13)
  },
)

outage(
  'streams of a node without notifications, and of a node without the database, emit nothing after the lease',
  { timeout: 90_000 },
  async ({ onTestFinished }) => {
    const scene = await openScene(
      { tickMs: 100, callsPerSecond: 20, seed: SEED, users: 20, world },
      onTestFinished,
    )
    const { places, victims } = scene
    const [deaf, cutOff] = places
    await allConnected(scene)
    await scene.addVictims(20)
    await sleep(200)

    deaf.proxy.silence('sallyport-listen')
    cutOff.proxy.cut()
    const cutAt = Date.now()
    for (let i = 0; i < victims.length / 2; i++) await scene.revokeNext('row deleted by plain SQL')
    const revoked = revokedOf(scene)
    const ofDeaf = revoked.filter(({ place }) => place === deaf)
    const ofCutOff = victims.filter(({ place }) => place === cutOff)
    await Promise.all([...ofDeaf, ...ofCutOff].map(({ stream }) => stream.ended))
    const lastValues = ofCutOff.map(({ stream }) => lateMs(stream, cutAt))
    cutOff.proxy.mend()
    const connectedAt = await connectedAfter(cutOff, cutAt)
    await until(() => scene.lastAcceptedAt(cutOff) > connectedAt)
    if (RESTARTS > 1) await sleep(RECOVERY_MS + 500)
    await scene.stop()

    const goingOn = victims.filter(({ revoked, stream }) => revoked === null && !stream.seen.hasEnded)
    console.log(`deaf and cut off: REVOCATION_SEED=${SEED}`, {
      answers: scene.load.answers,
      wrong: scene.wrong,
      lastValueOfCutOffAfterMs: figuresOf(lastValues),
      lastValueOfDeafAfterMs: figuresOf(ofDeaf.map(({ stream, revoked }) => lateMs(stream, revoked.at))),
      ends: tally(await endsOf(scene)),
      goingOn: goingOn.length,
    })
    expect(scene.wrong).toEqual({})
    expect(revoked).toHaveLength(victims.length / 2)
    expect(Math.max(...lastValues)).toBeLessThan(LEASE_MS)
    expect(ofDeaf.length).toBeGreaterThan(0)
    await expectEnds(revoked)
    if (RESTARTS > 1) expect(rejectedAfter(scene, cutOff, connectedAt + RECOVERY_MS)).toEqual([])
    expect(goingOn.filter(({ place }) => place === deaf).length).toBeGreaterThan(0)
  },
)

outage(
  `a node that is suspended for ${STOPPED_MS} ms during revocations rejects the revoked sessions afterwards, and accepts all others`,
  {
    timeout: 90_000 + STOPPED_MS,
  },
  async ({ onTestFinished: onCleanup }) => {
    await Promise.all(
      SUSPENDED.map(async ({ engine, share }) => {
        const report = await suspendNode(await share(onCleanup), {
          stoppedMs: STOPPED_MS,
          seed: SEED,
          world,
          onCleanup,
        })
        const { revoked, live } = report
        console.log(`${engine}, stopped: REVOCATION_SEED=${SEED}`, report)
        expect(revoked, engine).toMatchObject({ endedWrongly: [], valuesAfterEnd: 0 })
        // The value that was past its check when the node was stopped.
        expect(revoked.mostValuesAfter, engine).toBeLessThanOrEqual(1)
        const rejections = ['401 SESSION_NOT_FOUND', '403 ACCOUNT_BANNED', `0 closed ${BANNED}`, UNAVAILABLE]
        expect(Object.keys(revoked.calls).filter((answer) => !rejections.includes(answer))).toEqual([])
        // A lookup in flight when the node was stopped may have timed out.
        const answers = Object.keys({ ...live.calls, ...live.ends })
        expect(answers.filter((answer) => !['200', UNAVAILABLE].includes(answer))).toEqual([])
        expect(live.streamsGoingOn, engine).toBeGreaterThan(0)
      }),
    )
  },
)

const NAMED = `from pg_stat_activity where application_name in ('sallyport-lookup', 'sallyport-listen')`

/** Waits for all connections: at each node, two for lookups and one for notifications. */
async function allConnected({ database }: Scene): Promise<void> {
  while ((await database.query(`select 1 ${NAMED}`)).rowCount !== 6) await sleep(20)
}

/** Terminates the connections on the server's side. The proxies prevent reconnects. */
async function terminate({ database, places }: Scene): Promise<void> {
  for (const { proxy } of places) proxy.reject()
  await database.query(`select pg_terminate_backend(pid) ${NAMED}`)
}

/** Silences a node's lookup connections until it has others. Returns how many calls it rejected. */
async function holdUpLookups(scene: Scene): Promise<number> {
  const [place] = scene.places
  place.proxy.silence('sallyport-lookup')
  const silencedAt = Date.now()
  await until(() => scene.lastAcceptedAt(place) > silencedAt)
  return rejectedAfter(scene, place, silencedAt).length
}

async function revokeInTurn(scene: Scene): Promise<void> {
  for (let i = 0; i < REVOCATIONS_IN_TURN; i++) {
    await scene.revokeNext()
    await sleep(40)
  }
}

/** Returns the victims with an acknowledged revocation. */
function revokedOf({ victims }: Scene) {
  return victims.flatMap(({ revoked, ...victim }) => (revoked === null ? [] : [{ ...victim, revoked }]))
}

/** Returns when a node is connected again. */
async function connectedAfter({ proxy }: Place, moment: number): Promise<number> {
  for (;;) {
    const at = proxy.firstConnectedAfter(moment)
    if (at !== null) return at
    await sleep(10)
  }
}

function rejectedAfter({ rejectedAt }: Scene, place: Place, moment: number): number[] {
  return rejectedAt.filter((rejected) => rejected.place === place && rejected.at > moment).map(({ at }) => at)
}

function endsOf({ victims }: Scene) {
  return Promise.all(
    victims
      .map(({ stream }) => stream)
      .filter(({ seen }) => seen.hasEnded)
      .map(({ ended }) => ended),
  )
}

/**
 * Checks that no value came after the end or later than the lease allows, and that each stream ended with its
 * reason or an outage.
 */
async function expectEnds(revoked: ReturnType<typeof revokedOf>): Promise<void> {
  for (const { stream, revoked: revocation } of revoked) {
    expect([reasonAfter(revocation.kind), 'SESSIONS_UNAVAILABLE']).toContain((await stream.ended).reason)
    expect(lateMs(stream, revocation.at)).toBeLessThan(LEASE_MS)
    expect(stream.seen.wrong).toBe(0)
  }
}
