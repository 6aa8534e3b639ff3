import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import { until } from '../../../core/test/support/until.ts'
import { followKeys, forgeJwt, type StoredKey } from './key-history.ts'
import { BASE_URL, callMe, startLoad } from './load.ts'
import { createUsers } from './users.ts'

/** `pnpm test:rotation` runs 20. */
const ROTATIONS = Number(process.env.ROTATIONS ?? 2)
const USERS = 6
/** `pnpm test` leaves a processor for other tests. */
const PAUSE_MS = process.env.ROTATIONS === undefined ? 40 : 3
/** Long, so clients on a busy machine refresh in time. */
const JWT_LIFETIME_SECONDS = 60
/** The time between a client's refreshes. */
const REFRESH_AFTER_MS = 800

test(`${ROTATIONS} rotations over two processes under load sign no user out, and no removed key is accepted`, {
  timeout: 120_000 + ROTATIONS * 5_000,
}, async ({ onTestFinished }) => {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const [databasePath, keyPath] = [join(directory, 'app.db'), join(directory, 'keys.json')]
  const users = await createUsers(databasePath, USERS)
  const nodes = await Promise.all([startNode(), startNode()])
  const load = startLoad(nodes, users, { refreshAfterMs: REFRESH_AFTER_MS, pauseMs: PAUSE_MS })
  const keys = followKeys(keyPath, {
    isAccepted: async (key) => (await tryKey(key, users.slice(0, 1))).every((status) => status === 200),
    jwtLifetimeSeconds: JWT_LIFETIME_SECONDS,
  })

  async function startNode(): Promise<string> {
    const args = [BASE_URL, databasePath, keyPath, String(JWT_LIFETIME_SECONDS)]
    const child = fork(new URL('../fixtures/rotation-node.ts', import.meta.url), args, { execArgv: [] })
    onTestFinished(() => void child.kill())
    return firstMessage<string>(child)
  }

  /** Sends every node a new token of every session, signed with a key. Returns the statuses. */
  function tryKey(key: StoredKey, of = users): Promise<number[]> {
    const answers = nodes.flatMap((node) => of.map((user) => callMe(node, forgeJwt(key, user))))
    return Promise.all(answers.map(async (answer) => (await answer).status))
  }

  const withGone = { tried: 0, accepted: 0 }
  async function tryGone(): Promise<void> {
    for (const key of keys.gone) {
      for (const status of await tryKey(key)) {
        withGone.tried++
        if (status !== 401) withGone.accepted++
      }
    }
  }

  let retired: StoredKey | null = null
  for (let i = 0; i < ROTATIONS; i++) {
    const retiring = await keys.rotate()
    // Keys that were removed before this rotation, which every node has noticed.
    await tryGone()
    await load.untilUnused(retiring.kid)
    if (retired !== null) keys.drop(retired)
    retired = retiring
  }
  await keys.publish()
  await tryGone()
  await until(() => load.counts.calls > ROTATIONS * 100)
  const control = await tryKey(keys.active)
  await load.stop()

  const { counts, rejections, signers } = load
  console.log(`${ROTATIONS} rotations:`, {
    ...counts,
    keysThatSigned: signers.size,
    keysGone: keys.gone.length,
    triedWithGoneKeys: withGone.tried,
    acceptedWithGoneKeys: withGone.accepted,
  })
  expect(rejections).toEqual([])
  expect(counts).toMatchObject({ unauthorized: 0, serverErrors: 0, otherErrors: 0 })
  expect(signers.size).toBe(ROTATIONS + 1)
  expect(keys.gone).toHaveLength(ROTATIONS - 1)
  expect(withGone.tried).toBeGreaterThanOrEqual(keys.gone.length * USERS * nodes.length)
  expect(withGone.accepted).toBe(0)
  // The forgery itself is valid: with the signing key, it is accepted everywhere.
  expect(new Set(control)).toEqual(new Set([200]))
})
