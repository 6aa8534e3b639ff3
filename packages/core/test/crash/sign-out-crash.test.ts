import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { createSession, issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, type Route } from '@sallyport/core/internal/protocol'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import { expect, test } from 'vitest'
import { createRandom, type Random } from '../hostile/random.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { BASE_URL } from './server-settings.ts'
import { prepareServers, type Server } from './start-server.ts'

/** `pnpm test:crash` kills 200 times. */
const CRASHES = Number(process.env.CRASHES ?? 3)
const SEED = process.env.CRASH_SEED ?? 'sallyport'
/** Sessions that sign out at once, and others that stay idle, for each crash. */
const [LEAVING, STAYING] = [16, 4]

const databasePath = join(temporaryDirectory(), 'app.db')
const signingKeys = { keys: [await createSigningKey()] }

/** A session and both of its cookies. */
interface Browser {
  readonly sessionId: string
  readonly jwtCookie: string
  readonly sessionCookie: string
}

test(`kills a server ${CRASHES} times during sign-outs: no acknowledged sign-out is lost, and no other session ends`, {
  timeout: 60_000 + CRASHES * 3_000,
}, async () => {
  const random = createRandom(SEED)
  const browsers = await createBrowsers(CRASHES * (LEAVING + STAYING))
  const live = new Set(browsers.map(({ sessionId }) => sessionId))
  const ended = new Set<string>()
  const figures = { crashes: 0, acknowledged: 0, endedUnacknowledged: 0, stillLive: 0 }
  const servers = prepareServers({ databasePath, signingKeys })
  let server = await servers.start()

  for (let crash = 0; crash < CRASHES; crash++) {
    const start = crash * (LEAVING + STAYING)
    const leaving = browsers.slice(start, start + LEAVING)
    const acknowledged = await signOutUntilKilled(server, leaving, random)
    server = await servers.start()

    const answers = await Promise.all(leaving.map((browser) => askBothGates(server, browser)))
    for (const [i, { sessionId }] of leaving.entries()) {
      const wasAcknowledged = acknowledged.has(sessionId)
      const isLive = !wasAcknowledged && answers[i]?.[0] === '200'
      const expected = isLive ? ['200', '200'] : ['401 SESSION_NOT_FOUND', '401 SESSION_NOT_FOUND']
      expect(answers[i], wasAcknowledged ? 'acknowledged' : 'not acknowledged').toEqual(expected)
      if (isLive) figures.stillLive++
      else if (wasAcknowledged) figures.acknowledged++
      else figures.endedUnacknowledged++
      if (isLive) continue
      live.delete(sessionId)
      ended.add(sessionId)
    }
    figures.crashes++
    expect(await stored()).toEqual({ sessions: sorted(live), endings: sorted(ended) })
  }

  const staying = browsers.filter((_, i) => i % (LEAVING + STAYING) >= LEAVING)
  for (const browser of staying) expect(await askBothGates(server, browser)).toEqual(['200', '200'])
  console.log(`CRASH_SEED=${SEED}`, figures, { staying: staying.length })
  // The kills happened while sign-outs were running.
  expect(figures.acknowledged).toBeGreaterThan(CRASHES)
  expect(figures.stillLive).toBeGreaterThan(CRASHES)
})

/**
 * Signs all of them out at once and kills the server after some responses. Returns the ids with a response.
 */
async function signOutUntilKilled(
  server: Server,
  browsers: readonly Browser[],
  random: Random,
): Promise<Set<string>> {
  const acknowledged = new Set<string>()
  const { promise: isTime, resolve: strike } = Promise.withResolvers<void>()
  const answersBefore = random.below(browsers.length)
  if (answersBefore === 0) strike()

  const signOuts = browsers.map(async ({ sessionId, jwtCookie, sessionCookie }) => {
    const cookie = random.chance(0.5) ? sessionCookie : jwtCookie
    const answer = await ask(server, ENDPOINTS.signOut, cookie).catch(() => 'no server')
    if (answer === 'no server') return
    expect(answer).toBe('200')
    acknowledged.add(sessionId)
    if (acknowledged.size === answersBefore) strike()
  })
  await isTime
  await sleep(random.below(4))
  server.kill()
  await Promise.all([...signOuts, server.gone])
  return acknowledged
}

/** Checks Step 1 and Step 2 with the JWT, and the token endpoint with the session cookie. */
async function askBothGates(server: Server, { jwtCookie, sessionCookie }: Browser): Promise<string[]> {
  return [
    await ask(server, ENDPOINTS.getSession, jwtCookie),
    await ask(server, ENDPOINTS.token, sessionCookie),
  ]
}

async function ask(server: Server, { method, path }: Route, cookie: string): Promise<string> {
  const response = await fetch(`${server.url}${AUTH_PATH}${path}`, {
    method,
    headers: { [CLIENT_HEADER]: '1', cookie },
  })
  if (response.ok) return String(response.status)
  const { code } = await response.json()
  return `${response.status} ${code}`
}

/** Returns the sessions in the file, and those with a recorded end. */
async function stored(): Promise<{ sessions: string[]; endings: (string | null)[] }> {
  const { db, close } = await openSqlite(databasePath)
  const sessions = await db.selectFrom('session').select('id').orderBy('id').execute()
  const endings = await db
    .selectFrom('sallyport.audit')
    .select('sessionId')
    .where('type', '=', 'session.revoked')
    .orderBy('sessionId')
    .execute()
  await close()
  return { sessions: sessions.map(({ id }) => id), endings: endings.map(({ sessionId }) => sessionId) }
}

async function createBrowsers(count: number): Promise<Browser[]> {
  const database = await openSqlite(databasePath)
  const { active, publicJwks } = parseSigningKeys(signingKeys)
  const config = defineAuthConfig({ baseUrl: BASE_URL, jwks: staticJwks(publicJwks) })
  const user = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery staple' }
  const { userId } = await createPasswordAccount(database, { ...user, now: new Date() })
  const browsers: Browser[] = []
  for (let i = 0; i < count; i++) {
    const session = await createSession(database, { userId, config })
    const { token } = await issueJwt(session, { key: active, config })
    browsers.push({
      sessionId: session.id,
      jwtCookie: `${config.cookies.jwt}=${token}`,
      sessionCookie: `${config.cookies.session}=${session.cookie}`,
    })
  }
  await database.close()
  return browsers
}

function sorted(ids: ReadonlySet<string>): string[] {
  return [...ids].sort()
}
