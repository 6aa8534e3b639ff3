import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { revokeSession } from '@sallyport/core/auth'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { firstMessage } from '../../../core/test/support/first-message.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { callOverHttp, openSocket, subscribeOverEvents } from '../revocation/calls.ts'
import type { NodeSettings } from '../revocation/node-settings.ts'
import { type SignedIn, signIn } from '../revocation/signed-in-users.ts'
import type { Node } from '../revocation/start-nodes.ts'
import type { LiveStream } from '../revocation/stream-record.ts'
import { type Account, type End, live } from './life.ts'
import { slopeOf } from './slope.ts'
import type { Sample } from './soak-node.ts'

/** `pnpm test:soak` takes 60. Without it, the test is skipped. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 0)
/** Sixty samples. */
const SAMPLE_MS = MINUTES * 1_000
/** Sessions at once. They take turns, so the server isn't saturated. */
const [WORKERS, PAUSE_MS] = [4, 250]
const STANDING = 10
const ENDS: readonly End[] = ['sign out', 'revoke', 'revoke elsewhere']

/**
 * How much each measure may grow for each session that has come and gone, and in total: V8 compiles code, and
 * SQLite caches up to 16 MB of pages for each connection. A stream that isn't released takes over 600 bytes.
 */
const BOUNDS = [
  { measure: 'heapBytes', perSession: 500, total: 512 * 1_024 },
  { measure: 'rssBytes', perSession: 1_000, total: 64 * 1_024 * 1_024 },
  { measure: 'resources', perSession: 0.001, total: 2 },
  { measure: 'fileDescriptors', perSession: 0.001, total: 2 },
] as const satisfies readonly { measure: keyof Sample; perSession: number; total: number }[]

const directory = temporaryDirectory()

test.skipIf(MINUTES === 0)(
  `memory and handles stay flat during ${MINUTES} minutes of sessions that come and go`,
  {
    timeout: (MINUTES + 5) * 60_000,
  },
  async () => {
    const databaseUrl = join(directory, 'soak.db')
    const issuer = await createIssuer()
    const standing = await signIn(databaseUrl, STANDING, { issuer })
    const database = await openSqlite(databaseUrl)
    onTestFinished(database.close)
    const accounts = await createAccounts(database)
    const { signingKeys } = issuer
    const { child, node } = await startNode({ databaseUrl, signingKeys, tickMs: 250, cacheSize: 200 })
    const streams = await openStanding(node, standing)

    const samples: (Sample & { sessions: number })[] = []
    const startedAt = performance.now()
    const endsAt = startedAt + MINUTES * 60_000
    let sessions = 0
    const revokeElsewhere = (sessionId: string) => revokeSession(sessionId, database)
    while (performance.now() < endsAt) {
      const pauseAt = performance.now() + SAMPLE_MS
      const workers = Array.from({ length: WORKERS }, async () => {
        while (performance.now() < pauseAt) {
          const number = sessions++
          const account = accounts[number % accounts.length]
          if (account === undefined) throw new Error('No account')
          await live(node, account, { end: ENDS[number % ENDS.length] ?? 'revoke', revokeElsewhere })
          await sleep(PAUSE_MS)
        }
      })
      await Promise.all(workers)
      for (const caller of standing) await callOverHttp(node, caller)
      const measured = once(child, 'message')
      child.send('measure')
      const [sample]: Sample[] = await measured
      if (sample === undefined) throw new Error('No sample')
      samples.push({ ...sample, sessions })
    }

    expect(streams.filter(({ seen }) => seen.hasEnded || seen.wrong > 0)).toEqual([])
    // Until caches are full and code is compiled.
    const measured = samples.slice(Math.ceil(samples.length / 3))
    const first = measured[0]?.sessions ?? 0
    const heaps = samples.map(({ heapBytes }) => Math.round(heapBytes / 1_024)).join(' ')
    console.log(
      `${sessions} sessions, ${samples.length} samples, measured after ${first} sessions. Heap in KB: ${heaps}`,
    )
    const growths = BOUNDS.map(({ measure, ...bound }) => {
      const slope = slopeOf(measured.map((sample) => ({ x: sample.sessions, y: sample[measure] })))
      const total = slope * (sessions - first)
      const limit = bound.total + bound.perSession * (sessions - first)
      const [from, to] = [measured[0]?.[measure], measured.at(-1)?.[measure]]
      console.log(
        `${measure}: ${from} to ${to}, ${slope.toFixed(4)} per session: ${Math.round(total)} of ${Math.round(limit)}`,
      )
      return { measure, total, limit }
    })
    for (const { measure, total, limit } of growths) expect(total, measure).toBeLessThan(limit)
  },
)

async function createAccounts(database: Awaited<ReturnType<typeof openSqlite>>): Promise<Account[]> {
  const accounts = Array.from({ length: 20 }, (_, number) => ({
    email: `ada${number}@example.com`,
    password: 'correct horse battery staple',
  }))
  for (const account of accounts)
    await createPasswordAccount(database, { ...account, name: 'Ada', now: new Date() })
  return accounts
}

async function startNode(settings: NodeSettings): Promise<{ child: ChildProcess; node: Node }> {
  // V8 resizes its young generation by tens of megabytes under load. A fixed size shows the retained memory.
  const execArgv = ['--max-semi-space-size=1']
  const child = fork(new URL('soak-node.ts', import.meta.url), [], {
    execArgv,
    env: { ...process.env, NODE_ENV: 'production' },
  })
  onTestFinished(() => void child.kill())
  child.send(settings)
  return { child, node: { host: await firstMessage<string>(child), pause() {}, resume() {} } }
}

/** Opens a socket with a stream, and a stream of events, for each session. They stay open. */
async function openStanding(node: Node, standing: readonly SignedIn[]): Promise<LiveStream[]> {
  const streams: LiveStream[] = []
  for (const caller of standing) {
    const socket = await openSocket(node, caller)
    streams.push(socket.subscribe(), subscribeOverEvents(node, caller))
  }
  for (const { begun } of streams) expect(await begun).toEqual({ status: 200, reason: null })
  onTestFinished(() => {
    for (const stream of streams) stream.close()
  })
  return streams
}
