import { createPublicKey, verify } from 'node:crypto'
import { defineAuthConfig, staticJwks, verifyJwt } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, test } from 'vitest'
import { reasonOf } from '../support/reason-of.ts'
import { createTokenGate } from '../support/token-gate.ts'

describe.each(['Ed25519', 'ES256'] as const)('a JWT signed with %s', async (alg) => {
  const key = await createSigningKey(alg)
  const { active, publicJwks } = parseSigningKeys({ keys: [key] })
  const config = defineAuthConfig({ baseUrl: 'https://app.example.com/base', jwks: staticJwks(publicJwks) })
  const session = { id: 's1', userId: 'ada', expiresAt: new Date(Date.now() + 86_400_000) }
  const jwt = await issueJwt(session, { key: active, config })

  test('is accepted with the identity that was issued', async () => {
    expect(await verifyJwt(jwt.token, config)).toEqual({
      userId: 'ada',
      sessionId: 's1',
      version: 1,
      expiresAt: jwt.expiresAt,
      issuer: config.issuer,
      keyId: key.kid,
    })
  })

  test('has a signature that node:crypto accepts', () => {
    const [header = '', payload = '', signature = ''] = jwt.token.split('.')
    const publicKey = createPublicKey({ key: { ...publicJwks.keys[0] }, format: 'jwk' })
    const isRight = verify(
      alg === 'ES256' ? 'sha256' : null,
      Buffer.from(`${header}.${payload}`),
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
    expect(isRight).toBe(true)
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
      alg,
      typ: 'at+jwt',
      kid: key.kid,
    })
  })

  test('is rejected by a server with other keys', async () => {
    const { publicJwks: others } = parseSigningKeys({ keys: [await createSigningKey(alg)] })
    const elsewhere = defineAuthConfig({ baseUrl: config.baseUrl, jwks: staticJwks(others) })
    expect(await reasonOf(verifyJwt(jwt.token, elsewhere))).toBe('TOKEN_INVALID')
  })
})

describe('verified tokens are cached', () => {
  test('many verifications of one token check its signature once', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    for (let i = 0; i < 100; i++) await verifyJwt(token, gate.config)
    expect(gate.keySet.lookups).toBe(1)
  })

  test('a cached token expires at the second of its exp', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    gate.clock.advance(899)
    expect(await reasonOf(verifyJwt(token, gate.config))).toBe('accepted')
    gate.clock.advance(1)
    expect(await reasonOf(verifyJwt(token, gate.config))).toBe('TOKEN_EXPIRED')
    expect(gate.keySet.lookups).toBe(1)
  })

  test("a rejected token isn't cached", async () => {
    const gate = await createTokenGate()
    const token = gate.forge({ payload: { ...gate.claims(), aud: 'http://elsewhere' } })
    for (let i = 0; i < 3; i++) expect(await reasonOf(verifyJwt(token, gate.config))).toBe('TOKEN_INVALID')
    expect(gate.config.identityCache.size).toBe(0)
    expect(gate.keySet.lookups).toBe(3)
  })

  test('rejects a token that differs from a cached one only in its signature', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    const other = `${token.slice(0, token.lastIndexOf('.'))}.${'A'.repeat(86)}`
    expect(await reasonOf(verifyJwt(other, gate.config))).toBe('TOKEN_INVALID')
  })

  test('checks the signature again for another version of the key set', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    gate.keySet.version++
    await verifyJwt(token, gate.config)
    expect(gate.keySet.lookups).toBe(2)
  })

  test('rejects a token verified earlier after its key was removed', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    gate.keySet.version++
    gate.keySet.findKey = () => undefined
    expect(await reasonOf(verifyJwt(token, gate.config))).toBe('TOKEN_INVALID')
  })

  test("a key set that changes during a signature check doesn't cache the old key's result", async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    const { findKey } = gate.keySet
    gate.keySet.findKey = async (kid) => {
      const key = await findKey(kid)
      gate.keySet.version++
      return key
    }
    await verifyJwt(token, gate.config)
    gate.keySet.findKey = () => undefined
    expect(await reasonOf(verifyJwt(token, gate.config))).toBe('TOKEN_INVALID')
  })
})
