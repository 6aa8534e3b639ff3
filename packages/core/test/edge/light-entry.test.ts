import { fileURLToPath } from 'node:url'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { beforeAll, describe, expect, test } from 'vitest'
import { bundle } from '../support/bundle.ts'
import { startJwksServer } from '../support/jwks-server.ts'
import { runOnEdge } from '../support/run-on-edge.ts'
import type { Gate, Settings, StoredSession } from './gate.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const edge = await runOnEdge<typeof import('./gate.ts')>(path('./gate.ts'))

const baseUrl = 'https://app.example.com'
const now = Date.parse('2026-11-21T10:00:00.000Z')
const later = new Date(now + 3_600_000)
const [ed25519, es256, foreign] = await Promise.all([
  createSigningKey('Ed25519'),
  createSigningKey('ES256'),
  createSigningKey('Ed25519'),
])
const jwks = JSON.stringify(parseSigningKeys({ keys: [ed25519, es256] }).publicJwks)
const config = defineAuthConfig({ baseUrl, jwks: staticJwks(jwks), now: () => new Date(now) })

const sessions: readonly StoredSession[] = [
  { id: 's1', userId: 'ada', expiresAt: later.toISOString(), banned: false },
  { id: 'over', userId: 'ada', expiresAt: new Date(now).toISOString(), banned: false },
  { id: 'banned', userId: 'eve', expiresAt: later.toISOString(), banned: true },
]
const settings: Settings = { baseUrl, now, sessions }

/** A `Cookie` header with a JWT for a session, signed by a key. */
async function cookieOf(id: string, { userId = 'ada', key = ed25519, issuedAt = now } = {}): Promise<string> {
  const { active } = parseSigningKeys({ keys: [key] })
  const session = { id, userId, expiresAt: later }
  const { token } = await issueJwt(session, { key: active, config, now: new Date(issuedAt) })
  return `${config.cookies.jwt}=${token}; ${config.cookies.session}=${id}.secret`
}

describe.each(['static', 'dynamic'] as const)(
  'with %s keys, both steps give their result on the edge',
  (mode) => {
    let open: (settings: Settings) => Gate
    beforeAll(async () => {
      if (mode === 'static') open = (given) => edge.openWithStaticKeys(jwks, given)
      else {
        const { url } = await startJwksServer(jwks)
        open = (given) => edge.openWithDynamicKeys(url, given)
      }
    })

    test.each([
      ['a live session', 's1', {}, 's1'],
      ['a live session, signed with ES256', 's1', { key: es256 }, 's1'],
      ['an expired JWT', 's1', { issuedAt: now - 901_000 }, 'TOKEN_EXPIRED'],
      ['a JWT signed with a foreign key', 's1', { key: { ...foreign, kid: ed25519.kid } }, 'TOKEN_INVALID'],
      ['an unknown key', 's1', { key: foreign }, 'TOKEN_INVALID'],
      ['a session that was revoked', 'gone', {}, 'SESSION_NOT_FOUND'],
      ['a session of another user', 's1', { userId: 'eve' }, 'SESSION_NOT_FOUND'],
      ['a session that has expired', 'over', {}, 'SESSION_EXPIRED'],
      ['a banned user', 'banned', { userId: 'eve' }, 'ACCOUNT_BANNED'],
    ])('%s', async (_name, id, options, result) => {
      expect(await open(settings).enter(await cookieOf(id, options))).toBe(result)
    })

    test('a verified token is remembered, and its session is still looked up', async () => {
      const live = [...sessions]
      const gate = open({ ...settings, sessions: live })
      const cookie = await cookieOf('s1')
      expect(await gate.enter(cookie)).toBe('s1')
      expect(await gate.enter(cookie)).toBe('s1')
      live.splice(0)
      expect(await gate.enter(cookie)).toBe('SESSION_NOT_FOUND')
    })

    test('without credentials, from a foreign site, without a database', async () => {
      const gate = open(settings)
      expect(await gate.enter('theme=dark')).toBe('TOKEN_MISSING')
      const crossSite = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      expect(await gate.enter(await cookieOf('s1'), { sent: crossSite })).toBe('ORIGIN_REJECTED')
      const cookie = await cookieOf('s1')
      expect(await gate.enter(`${cookie}; ${cookie}`)).toBe('COOKIE_CONFLICT')
      expect(await open({ ...settings, sessions: null }).enter(cookie)).toBe('SESSIONS_UNAVAILABLE')
    })

    test('the keys are ready, and a rejection is received with the hash of the session', async () => {
      const received: string[] = []
      const gate = open({ ...settings, onDenial: (event) => received.push(event) })
      expect(await gate.ready()).toBe('ready')
      await gate.enter(await cookieOf('gone'))
      await expect.poll(() => received.length).toBe(1)
      expect(JSON.parse(received[0] ?? '')).toMatchObject({
        type: 'decision.denied',
        reason: 'SESSION_NOT_FOUND',
        sessionIdHash: expect.stringMatching(/^[0-9a-f]{64}$|^sha256:/),
      })
    })
  },
)

test('keys that cannot be had are no result: the first request gets 503 on the edge too', async () => {
  const server = await startJwksServer((_request, response) => void response.writeHead(500).end())
  const gate = edge.openWithDynamicKeys(server.url, settings)
  expect(await gate.enter(await cookieOf('s1'))).toBe('KEYS_UNAVAILABLE')
  expect(await gate.ready()).toBe('KEYS_UNAVAILABLE')
})

test('a private key among the public ones is rejected on the edge too', () => {
  expect(() => edge.openWithStaticKeys(JSON.stringify({ keys: [ed25519] }), settings)).toThrow(
    'JWKS: keys[0].d is private; only public keys belong here',
  )
})

test('what needs Node does not get onto the edge', async () => {
  const { imports } = await bundle(path('../../src/sqlite.ts'))
  expect(imports).toContain('node:fs')
  await expect(runOnEdge(path('../../src/sqlite.ts'))).rejects.toThrow('The bundle imports')
})
