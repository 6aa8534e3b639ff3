import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { revokeSession } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { figuresOf } from '../revocation/figures.ts'
import { ATTACKS, type Attack } from './attacks.ts'
import type { NodeReport, NodeUse } from './socket-node.ts'
import type { VisitReport } from './visitors.ts'

/**
 * Seconds of each attack, and of the calm before it. The default measures nothing, since the machine may be
 * busy.
 */
const SECONDS = Number(process.env.SOCKET_SECONDS ?? 0)
const isMeasured = SECONDS > 0
const MILLISECONDS = isMeasured ? SECONDS * 1_000 : 700
const VISITORS = 8
/** Revocations by another process during each attack. */
const REVOCATIONS = isMeasured ? 20 : 2
const kinds = Object.keys(ATTACKS) as Attack[]
const MB = 1024 * 1024

const children: ChildProcess[] = []

function start(file: string, execArgv: string[] = []): ChildProcess {
  const child = fork(new URL(file, import.meta.url), [], {
    execArgv,
    env: { ...process.env, NODE_ENV: 'production' },
  })
  children.push(child)
  return child
}

async function ask<Answer>(child: ChildProcess, question: object): Promise<Answer> {
  const answer = once(child, 'message')
  child.send(question)
  const [message] = await answer
  return message
}

const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
const databaseUrl = `file:${join(directory, 'sockets.db')}`
let server: ChildProcess
let node: NodeReport
let elsewhere: Awaited<ReturnType<typeof openSqlite>>
let attacker: ChildProcess
let visitors: ChildProcess
let unused: number

beforeAll(async () => {
  // V8 resizes its young generation by tens of megabytes under load. A fixed size shows the retained memory.
  server = start('socket-node.ts', ['--max-semi-space-size=1'])
  attacker = start('attacker.ts')
  visitors = start('visitors.ts')
  node = await ask<NodeReport>(server, { databaseUrl, users: VISITORS + kinds.length * REVOCATIONS })
  elsewhere = await openSqlite(databaseUrl)
  unused = VISITORS
  // Excludes one-time compilation and allocations from the measurements.
  await Promise.all([visit(), ...(isMeasured ? [attackAllInTurn()] : [])])
}, 120_000)
afterAll(async () => {
  for (const child of children) child.disconnect()
  await elsewhere.close()
  rmSync(directory, { recursive: true })
})

async function attackAllInTurn(): Promise<void> {
  for (const attack of kinds) await assail(attack)
}

const assail = (attack: Attack) =>
  ask<number>(attacker, { host: node.host, attack, milliseconds: MILLISECONDS })

const visit = () =>
  ask<VisitReport>(visitors, {
    host: node.host,
    cookies: node.cookies.slice(0, VISITORS),
    milliseconds: MILLISECONDS,
  })

/** Revokes sessions from this process. Returns how long each stream took to end, in milliseconds. */
async function revokeElsewhere(): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < REVOCATIONS; count++) {
    const index = unused++
    const socket = new WebSocket(`ws://${node.host}`, {
      headers: {
        cookie: node.cookies[index] ?? '',
        origin: 'http://localhost:3000',
        'x-forwarded-for': `192.0.2.${index % 250}`,
      },
    })
    const ended = new Promise<number>((resolve, reject) => {
      socket.on('error', reject)
      socket.on('open', () => socket.send('{"id":1,"method":"subscription","params":{"path":"clock"}}'))
      socket.on('message', (message) => {
        const { error } = JSON.parse(String(message))
        if (error?.data.auth?.reason === 'SESSION_NOT_FOUND') resolve(performance.now())
        else if (error !== undefined) reject(new Error(String(message)))
      })
    })
    await Promise.race([ended, new Promise((resolve) => socket.once('message', resolve))])
    await revokeSession(node.sessionIds[index] ?? '', elsewhere)
    const revokedAt = performance.now()
    times.push((await ended) - revokedAt)
    socket.terminate()
  }
  return times
}

describe('one attacking socket', () => {
  test.each(kinds)(
    "with %s fails no other client's calls, and revocations elsewhere end streams",
    async (attack) => {
      await ask<NodeUse>(server, {})
      const calm = isMeasured ? await visit() : { failures: 0, times: [] }
      const before = await ask<NodeUse>(server, {})
      const [frames, attacked, revocations] = await Promise.all([assail(attack), visit(), revokeElsewhere()])
      const use = await ask<NodeUse>(server, {})

      expect(frames).toBeGreaterThan(0)
      expect(calm.failures + attacked.failures).toBe(0)
      expect(revocations).toHaveLength(REVOCATIONS)
      const codes = Object.keys(use.closed).map(Number)
      for (const code of codes) expect([...ATTACKS[attack].closedWith, 1006]).toContain(code)

      const [off, on, ends] = [calm.times, attacked.times, revocations].map(figuresOf)
      const extraBytes = use.rssBytes - before.rssBytes
      if (!isMeasured || off === undefined || on === undefined || ends === undefined) return
      console.log(
        `${attack}: p50 ${off.p50} -> ${on.p50} ms, p99 ${off.p99} -> ${on.p99} ms, ` +
          `${(extraBytes / MB).toFixed(1)} MB more, revocations p50 ${ends.p50} max ${ends.max} ms, ` +
          `${frames} frames, closed ${JSON.stringify(use.closed)}`,
      )
      expect(on.p50).toBeLessThanOrEqual(2 * off.p50)
      expect(on.p99).toBeLessThanOrEqual(Math.max(50, 3 * off.p99))
      expect(extraBytes).toBeLessThanOrEqual(16 * MB)
      expect(ends.max).toBeLessThan(5_000)
    },
    60_000 + 5 * MILLISECONDS,
  )
})
