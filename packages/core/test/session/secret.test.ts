import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSecret, hashSecret } from '../../src/session/secret.ts'

test('a secret is 256 bits in base64url, and never the same twice', () => {
  const secrets = Array.from({ length: 200 }, createSecret)
  expect(new Set(secrets).size).toBe(200)
  for (const secret of secrets) {
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  }
})

test('what is stored of a secret is sha256: and its hash in hex', async () => {
  for (const secret of ['', 'a', 'é', createSecret()]) {
    expect(await hashSecret(secret)).toBe(`sha256:${createHash('sha256').update(secret).digest('hex')}`)
  }
})
