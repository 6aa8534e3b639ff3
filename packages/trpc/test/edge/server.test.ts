import { fileURLToPath } from 'node:url'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { beforeEach, describe, expect, test } from 'vitest'
import { bundle } from '../../../core/test/support/bundle.ts'
import { startJwksServer } from '../../../core/test/support/jwks-server.ts'
import { runOnEdge } from '../../../core/test/support/run-on-edge.ts'
import type { App, Path, Settings } from './app.ts'
import { createTimers } from './timers.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const timers = createTimers()
const edge = await runOnEdge<typeof import('./app.ts')>(path('./app.ts'), timers.globals)

const baseUrl = 'https://app.example.com'
const start = Date.parse('2026-11-21T10:00:00.000Z')
const later = start + 3_600_000
const key = await createSigningKey()
const keys = parseSigningKeys({ keys: [key] })
const jwks = JSON.stringify(keys.publicJwks)
const config = defineAuthConfig({ baseUrl, jwks: staticJwks(jwks) })
const jwksServer = await startJwksServer(jwks)

/** Returns a `Cookie` header with a session's JWT. */
async function cookieOf(id: string, userId = 'ada', issuedAt = start): Promise<string> {
  const session = { id, userId, expiresAt: new Date(later) }
  const { token } = await issueJwt(session, { key: keys.active, config, now: new Date(issuedAt) })
  return `${config.cookies.jwt}=${token}`
}

const settings = (): Settings => ({
  baseUrl,
  keys: { jwks },
  sessions: [
    { id: 's1', userId: 'ada', expiresAt: later, role: 'user' },
    { id: 'root', userId: 'grace', expiresAt: later, role: 'admin' },
    { id: 'over', userId: 'ada', expiresAt: start, role: 'user' },
  ],
  now: () => start + timers.now(),
})

let app: App
beforeEach(() => {
  app = edge.createApp(settings())
})

describe.each([
  ['static', () => ({ jwks })],
  ['dynamic', () => ({ url: jwksServer.url })],
] as const)('with %s keys, the guards decide on the edge as in Node', (_mode, keysOf) => {
  test.each<[Path, string, string, string]>([
    ['greet', 's1', 'ada', 'Hello Ada'],
    ['greet', 'gone', 'ada', 'Hello stranger'],
    ['me', 's1', 'ada', 'countess of acme'],
    ['me', 'gone', 'ada', 'SESSION_NOT_FOUND'],
    ['me', 'over', 'ada', 'SESSION_EXPIRED'],
    ['read', 's1', 'ada', 's1'],
    ['read', 'gone', 'ada', 'SESSION_NOT_FOUND'],
    ['pay', 's1', 'ada', 's1'],
    ['pay', 'gone', 'ada', 'SESSION_NOT_FOUND'],
    ['confirm', 's1', 'ada', 'SESSION_NOT_FRESH'],
    ['rule', 's1', 'ada', 'ROLE_REQUIRED'],
    ['rule', 'root', 'grace', 'root'],
  ])('%s for the session %s of %s: %s', async (procedure, id, userId, answer) => {
    app = edge.createApp({ ...settings(), keys: keysOf() })
    expect(await app.call(procedure, await cookieOf(id, userId))).toBe(answer)
  })
})

describe('over HTTP', () => {
  const headers = async (id: string) => ({
    cookie: await cookieOf(id),
    'content-type': 'application/json',
    'sec-fetch-site': 'same-origin',
  })

  test('responds to a query and a mutation', async () => {
    const query = await app.fetch('me', { method: 'GET', headers: await headers('s1') })
    expect([query.status, await query.json()]).toEqual([200, { result: { data: 'countess of acme' } }])
    const mutation = await app.fetch('pay', { method: 'POST', headers: await headers('s1') })
    expect([mutation.status, await mutation.json()]).toEqual([200, { result: { data: 's1' } }])
  })

  test('reads the session once for a batch', async () => {
    const { status } = await app.fetch('me,read?batch=1', { method: 'GET', headers: await headers('s1') })
    expect([status, app.reads()]).toEqual([200, 1])
  })

  test('responds to a rejection with its status and reason', async () => {
    const response = await app.fetch('me', { method: 'GET', headers: await headers('gone') })
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { data: { auth: { reason: 'SESSION_NOT_FOUND', retryAfterSeconds: null, replay: true } } } },
    ])
  })

  test('rejects the cookies of a page of another site', async () => {
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    const sent = { ...(await headers('s1')), ...foreign }
    const response = await app.fetch('pay', { method: 'POST', headers: sent })
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { error: { data: { auth: { reason: 'ORIGIN_REJECTED' } } } },
    ])
  })

  test('takes the address from the trusted proxy', async () => {
    const sent = { ...(await headers('s1')), 'x-forwarded-for': '198.51.100.7, 203.0.113.9' }
    const response = await app.fetch('whence', { method: 'GET', headers: sent })
    expect(await response.json()).toEqual({ result: { data: '203.0.113.9' } })
  })

  test('ends a stream of events with the reason when its session is revoked', async () => {
    const sent = { ...(await headers('s1')), accept: 'text/event-stream' }
    const { status, body } = await app.fetch('ticks', { method: 'GET', headers: sent })
    if (body === null) throw new TypeError('A stream was expected')
    const events = body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
    let text = ''
    const readUntil = async (part: string) => {
      while (!text.includes(part)) {
        const { done, value } = await events.next()
        if (done) throw new Error(`The stream has ended: ${text}`)
        text += value
      }
    }
    await readUntil('data: 1')
    app.revoke('s1', 'ada')
    await readUntil('SESSION_NOT_FOUND')
    expect([status, text]).toEqual([200, expect.stringContaining('event: serialized-error')])
  })
})

describe('a stream', () => {
  test('ends with the reason as soon as its session is revoked', async () => {
    const next = await app.stream(await cookieOf('s1'))
    expect(await next()).toBe(1)
    const second = next()
    edge.tick()
    expect(await second).toBe(2)
    const third = next()
    app.revoke('s1', 'ada')
    expect(await third).toBe('SESSION_NOT_FOUND')
    await timers.advance(100)
    expect(timers.pending).toBe(0)
  })

  test('reads its session again before the lease ends, and ends after an unannounced revocation', async () => {
    const given = settings()
    app = edge.createApp(given)
    const next = await app.stream(await cookieOf('s1'))
    expect([await next(), app.reads()]).toEqual([1, 1])
    const second = next()
    await timers.advance(5_000)
    expect(app.reads()).toBeGreaterThanOrEqual(2)
    given.sessions.splice(0)
    await timers.advance(5_000)
    expect(await second).toBe('SESSION_NOT_FOUND')
    expect(timers.pending).toBe(0)
  })

  test('ends with its session, also in the grace period of older credentials', async () => {
    const given = settings()
    const rotatedAt = new Date(given.now()).toISOString()
    given.sessions[0] = { id: 's1', userId: 'ada', expiresAt: later, role: 'user', rotatedAt }
    app = edge.createApp(given)
    const next = await app.stream(await cookieOf('s1'))
    expect(await next()).toBe(1)
    const second = next()
    app.revoke('s1', 'ada')
    expect(await second).toBe('SESSION_NOT_FOUND')
  })

  test('ends at the exact moment that its session expires', async () => {
    const given = settings()
    given.sessions[0] = { id: 's1', userId: 'ada', expiresAt: given.now() + 3_000, role: 'user' }
    app = edge.createApp(given)
    const next = await app.stream(await cookieOf('s1'))
    expect(await next()).toBe(1)
    const second = next()
    await timers.advance(2_999)
    edge.tick()
    expect(await second).toBe(2)
    const third = next()
    await timers.advance(1)
    expect(await third).toBe('SESSION_EXPIRED')
  })
})

test('the session module and the guards bundle no plugin and no part of the definition', async () => {
  const { imports, files } = await bundle(path('./app.ts'))
  expect(imports).toEqual([])
  expect(
    files.filter((file) =>
      /test\/edge\/auth\.ts|core\/src\/(plugins|endpoints|database|cli)\/|kysely|zod/.test(file),
    ),
  ).toEqual([])
})
