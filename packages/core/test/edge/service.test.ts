import { fileURLToPath } from 'node:url'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, test } from 'vitest'
import { runOnEdge } from '../support/run-on-edge.ts'
import type { Settings } from './service-calls.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const edge = await runOnEdge<typeof import('./service-calls.ts')>(path('./service-calls.ts'))

const [ofUsers, ofService] = await Promise.all([createSigningKey(), createSigningKey('ES256')])
const publicHalf = (key: typeof ofUsers) => JSON.stringify(parseSigningKeys({ keys: [key] }).publicJwks)
const settings: Settings = {
  baseUrl: 'https://app.example.com',
  jwks: publicHalf(ofUsers),
  signingKeys: JSON.stringify({ keys: [ofService] }),
  serviceJwks: publicHalf(ofService),
}
const now = Date.parse('2026-11-21T10:00:00.000Z')
const body = '{"type":"mutation","path":"report.save","input":{"title":"Größe"}}'

describe('a service call from the edge', () => {
  test('is what its token says it is, there and in Node alike', async () => {
    const token = await edge.issue(settings, body, now)
    const inNode = await import('./service-calls.ts')
    for (const side of [edge, inNode]) {
      expect(await side.verify(settings, token, body, now)).toBe('report.save')
      expect(await side.verify(settings, token, body.replace('save', 'drop'), now)).toBe('another body')
      expect(await side.verify(settings, token, body, now + 30_000)).toBe('TOKEN_EXPIRED')
      expect(await side.verify(settings, `${token.slice(0, -4)}AAAA`, body, now)).toBe('TOKEN_INVALID')
    }
    expect(await edge.verify(settings, await inNode.issue(settings, body, now), body, now)).toBe(
      'report.save',
    )
  })

  test('cannot be made with the JWT of a user', async () => {
    const config = defineAuthConfig({ baseUrl: settings.baseUrl, jwks: staticJwks(settings.jwks) })
    const key = parseSigningKeys({ keys: [ofUsers] }).active
    const session = { id: 's1', userId: 'ada', expiresAt: new Date(now + 60_000) }
    const { token } = await issueJwt(session, { key, config, now: new Date(now) })
    expect(await edge.verify(settings, token, body, now)).toBe('TOKEN_INVALID')
  })

  test('cannot be made with a key of users either', async () => {
    const shared = {
      ...settings,
      signingKeys: JSON.stringify({ keys: [ofUsers] }),
      serviceJwks: settings.jwks,
    }
    await expect(edge.issue(shared, body, now)).rejects.toThrow('verifies JWTs of users too')
    await expect(edge.verify(shared, 'a.b.c', body, now)).rejects.toThrow('verifies JWTs of users too')
  })
})
