import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { expect, test, vi } from 'vitest'

const verified = vi.hoisted((): string[] => [])
vi.mock('@node-rs/argon2', async (importOriginal) => {
  const argon2 = await importOriginal<typeof import('@node-rs/argon2')>()
  const verify: typeof argon2.verify = (hash, password) => {
    verified.push(`${hash}`)
    return argon2.verify(hash, password)
  }
  return { ...argon2, verify }
})

test('sign-in verifies one password of the same cost, whether the account exists or not', async () => {
  const auth = await createTestAuth()
  const { email } = await auth.createUser()
  for (const address of [email, 'nobody@example.com']) {
    const response = await auth.handler(
      new Request('http://localhost:3000/api/auth/sign-in/email', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
        body: JSON.stringify({ email: address, password: `${TEST_PASSWORD}!` }),
      }),
    )
    expect(response.status).toBe(401)
  }
  const cost = (hash: string | undefined) => hash?.split('$').slice(0, 4)
  expect(verified).toHaveLength(2)
  expect(cost(verified[0])).toEqual(cost(verified[1]))
  await auth.close()
})
