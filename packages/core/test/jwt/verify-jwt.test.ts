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

  test('is accepted, and its identity is what was issued', async () => {
    expect(await verifyJwt(jwt.token, config)).toEqual({
      userId: 'ada',
      sessionId: 's1',
      version: 1,
      expiresAt: jwt.expiresAt,
      issuer: config.issuer,
      keyId: key.kid,
    })
  })

  test('holds a signature that node:crypto finds right', () => {
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

describe('what was verified is remembered', () => {
  test('many verifications of one token check its signature once', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    for (let i = 0; i < 100; i++) await verifyJwt(token, gate.config)
    expect(gate.keySet.lookups).toBe(1)
  })

  test('a remembered token expires at the second its exp says', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    gate.clock.advance(899)
    expect(await reasonOf(verifyJwt(token, gate.config))).toBe('accepted')
    gate.clock.advance(1)
    expect(await reasonOf(verifyJwt(token, gate.config))).toBe('TOKEN_EXPIRED')
    expect(gate.keySet.lookups).toBe(1)
  })

  test('a rejected token is not remembered', async () => {
    const gate = await createTokenGate()
    const token = gate.forge({ payload: { ...gate.claims(), aud: 'http://elsewhere' } })
    for (let i = 0; i < 3; i++) expect(await reasonOf(verifyJwt(token, gate.config))).toBe('TOKEN_INVALID')
    expect(gate.config.identityCache.size).toBe(0)
    expect(gate.keySet.lookups).toBe(3)
  })

  test('a token that differs from a remembered one in its signature alone is rejected', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    const other = `${token.slice(0, token.lastIndexOf('.'))}.${'A'.repeat(86)}`
    expect(await reasonOf(verifyJwt(other, gate.config))).toBe('TOKEN_INVALID')
  })

  test('another version of the key set checks the signature again', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    gate.keySet.version++
    await verifyJwt(token, gate.config)
    expect(gate.keySet.lookups).toBe(2)
  })

  test('a token whose key has gone is rejected, although it was verified before', async () => {
    const gate = await createTokenGate()
    const token = gate.forge()
    await verifyJwt(token, gate.config)
    gate.keySet.version++
    gate.keySet.findKey = () => undefined
    expect(await reasonOf(verifyJwt(token, gate.config))).toBe('TOKEN_INVALID')
  })

  test('a key set that changes while a signature is checked does not let the old key into the new set', async () => {
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
