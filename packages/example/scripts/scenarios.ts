/** Runs the seven rows of the scenario matrix against a real server on a free port and prints what happened. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { banUser, issueJwt, parseSigningKeys, revokeSession } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { type Answer, type Browser, signUp } from './browser.ts'

interface Scenario {
  readonly name: string
  readonly jwt: string
  readonly session: string
  readonly expected: string
  readonly prepare: (browser: Browser) => Promise<void>
}

const directory = mkdtempSync(join(tmpdir(), 'sallyport-scenarios-'))
const port = await freePort()
const baseUrl = `http://localhost:${port}`
const env = {
  DATABASE_URL: `file:${join(directory, 'example.db')}`,
  KEY_FILE: join(directory, 'keys.json'),
  SERVICE_KEY_FILE: join(directory, 'service-keys.json'),
  INTERNAL_SOCKET: join(directory, 'internal.sock'),
}
const server = fork(new URL('../src/server.ts', import.meta.url), {
  env: { ...process.env, ...env, PORT: String(port), BASE_URL: baseUrl, NODE_ENV: 'development' },
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
})
process.once('exit', () => server.kill())
await untilHealthy()
const database = await openSqlite(env.DATABASE_URL)
const signingKeys = parseSigningKeys(readFileSync(env.KEY_FILE, 'utf8'))
const config = defineAuthConfig({ baseUrl, jwks: staticJwks(signingKeys.publicJwks) })

const scenarios: readonly Scenario[] = [
  { name: 'Normal', jwt: 'valid', session: 'valid', expected: '200', prepare: async () => {} },
  {
    name: 'User signs out',
    jwt: 'deleted',
    session: 'deleted',
    expected: '401',
    prepare: async (browser) => void (await browser.post('/api/auth/sign-out')),
  },
  {
    name: 'Admin revokes session',
    jwt: 'valid',
    session: 'deleted',
    expected: '401',
    prepare: async ({ sessionId }) => void (await revokeSession(sessionId, database)),
  },
  {
    name: 'JWT expired, session valid',
    jwt: 'expired',
    session: 'valid',
    expected: 'auto-refresh then 200',
    prepare: expireJwt,
  },
  {
    name: 'JWT expired, session expired',
    jwt: 'expired',
    session: 'expired',
    expected: '401',
    prepare: async (browser) => {
      await expireJwt(browser)
      await expireSession(browser)
    },
  },
  {
    name: 'JWT valid, session expired',
    jwt: 'valid',
    session: 'expired',
    expected: '401',
    prepare: expireSession,
  },
  {
    name: 'User banned',
    jwt: 'valid',
    session: 'valid, banned',
    expected: '403',
    prepare: async ({ userId }) => void (await banUser(userId, database, { now: new Date() })),
  },
]

let failures = 0
printRow(['scenario', 'JWT', 'session', 'decided by', 'result', 'time', ''])
for (const { name, jwt, session, expected, prepare } of scenarios) {
  const browser = await signUp(baseUrl)
  await prepare(browser)
  const startedAt = performance.now()
  const { result, reason, step } = await callWithRefresh(browser)
  const time = `${(performance.now() - startedAt).toFixed(1)} ms`
  const isRight = result === expected
  if (!isRight) failures++
  printRow([
    name,
    jwt,
    session,
    step,
    `${result} ${reason}`,
    time,
    isRight ? 'as specified' : `EXPECTED ${expected}`,
  ])
}

await database.close()
server.kill('SIGINT')
await once(server, 'exit')
rmSync(directory, { recursive: true })
process.exitCode = failures

/** What a client does: call, refresh where the reason is about the token, and call again. */
async function callWithRefresh(browser: Browser): Promise<{ result: string; reason: string; step: string }> {
  const first = await browser.get('/trpc/me')
  if (!first.reason.startsWith('TOKEN_')) return describe(first)
  const refresh = await browser.get('/api/auth/backend/token')
  if (refresh.status !== 200) return { ...describe(first), reason: `${first.reason}, then ${refresh.reason}` }
  const second = describe(await browser.get('/trpc/me'))
  return { ...second, result: `auto-refresh then ${second.result}`, reason: first.reason }
}

function describe({ status, reason, message }: Answer): { result: string; reason: string; step: string } {
  const step = status === 200 ? 'both steps' : reason.startsWith('TOKEN_') ? 'Step 1' : 'Step 2'
  return {
    result: String(status),
    reason: message === 'Account banned' ? `${reason} "${message}"` : reason,
    step,
  }
}

/** Puts a JWT that has expired a minute ago into the browser. */
async function expireJwt(browser: Browser): Promise<void> {
  const now = new Date(Date.now() - (config.jwtLifetimeSeconds + 60) * 1_000)
  const session = { id: browser.sessionId, userId: browser.userId, expiresAt: new Date(Date.now() + 60_000) }
  const { token } = await issueJwt(session, { key: signingKeys.active, config, now })
  browser.cookies.set(config.cookies.jwt, token)
}

async function expireSession({ sessionId }: Browser): Promise<void> {
  await database.db
    .updateTable('session')
    .set({ expiresAt: new Date() })
    .where('id', '=', sessionId)
    .execute()
}

async function untilHealthy(): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const response = await fetch(`${baseUrl}/healthz`).catch(() => null)
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('The server did not start')
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0)
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

function printRow(cells: readonly string[]): void {
  const widths = [29, 9, 14, 11, 46, 9, 0]
  console.log(cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' '))
}
