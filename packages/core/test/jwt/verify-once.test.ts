import { type AuthConfig, defineAuthConfig, type Identity, type Proof } from '@sallyport/core'
import { afterEach, expect, test, vi } from 'vitest'
import { verifyOnce, verifyProof } from '../../src/jwt/verify-once.ts'
import { createSecretKeys } from '../../src/session/secret-keys.ts'
import { reasonOf } from '../support/reason-of.ts'

afterEach(() => void vi.useRealTimers())

function openScene() {
  let secret = 'secret'
  const jwks = createSecretKeys(() => secret)
  const config: AuthConfig = defineAuthConfig({
    baseUrl: 'http://localhost:3000',
    jwks,
    session: { lookupTimeoutMs: 10 },
  })
  return {
    config,
    replaceSecret(next: string) {
      secret = next
    },
  }
}

const identity: Identity = {
  userId: 'u1',
  sessionId: 's1',
  keyId: 'k1',
  version: null,
  issuer: 'http://localhost:3000',
  expiresAt: new Date('2030-01-01'),
}
const now = new Date('2029-01-01')

test('verifies a token once, until a key changes', async () => {
  const { config, replaceSecret } = openScene()
  const verify = vi.fn(async () => identity)
  for (let call = 0; call < 3; call++)
    expect(await verifyOnce('token', { config, now }, verify)).toBe(identity)
  expect(verify).toHaveBeenCalledTimes(1)
  replaceSecret('next')
  await verifyOnce('token', { config, now }, verify)
  expect(verify).toHaveBeenCalledTimes(2)
})

test('a cached token still expires', async () => {
  const { config } = openScene()
  const verify = async () => identity
  await verifyOnce('token', { config, now }, verify)
  const late = { config, now: identity.expiresAt }
  expect(await reasonOf(verifyOnce('token', late, verify))).toBe('TOKEN_EXPIRED')
})

test('what was verified with a replaced key is not cached', async () => {
  const { config, replaceSecret } = openScene()
  const verify = vi.fn(async () => {
    replaceSecret('next')
    return identity
  })
  await verifyOnce('token', { config, now }, verify)
  await verifyOnce('token', { config, now }, verify)
  expect(verify).toHaveBeenCalledTimes(2)
})

test.each<[string, Proof['verify']]>([
  ['fails', () => Promise.reject(new Error('no connection'))],
  ['does not respond', () => new Promise(() => {})],
])('a proof that %s is 503, and is asked again', async (_name, fail) => {
  const { config } = openScene()
  const verify = vi.fn<Proof['verify']>(async () => identity).mockImplementationOnce(fail)
  const proof: Proof = { readToken: () => null, verify }
  expect(await reasonOf(verifyProof('token', proof, config))).toBe('SESSIONS_UNAVAILABLE')
  expect(await verifyProof('token', proof, config)).toMatchObject({ userId: 'u1', version: null })
  expect(verify).toHaveBeenCalledTimes(2)
})

test('a proof that fails is the cause of the error', async () => {
  const cause = new Error('no connection')
  const proof: Proof = { readToken: () => null, verify: () => Promise.reject(cause) }
  await expect(verifyProof('token', proof, openScene().config)).rejects.toMatchObject({ cause })
})
