import { issueJwt } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, expect, test } from 'vitest'
import { prepareTokens } from '../../src/lifecycle/prepare-tokens.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
const { config, signingKeys } = auth.definition

test('a payload that only fits into the JWT of a low version is rejected before the session changes', async () => {
  const session = { id: crypto.randomUUID(), userId: crypto.randomUUID() }
  const expiresAt = new Date(8.64e15)
  const payloadOf = (length: number) => ({ text: 'x'.repeat(length) })
  async function fits(length: number): Promise<boolean> {
    const payload = payloadOf(length)
    const issuing = issueJwt({ ...session, expiresAt }, { key: signingKeys.active, config, payload })
    return await issuing.then(Boolean, () => false)
  }
  const prepare = (length: number) =>
    prepareTokens(session, {
      config,
      signingKeys,
      definePayload: () => payloadOf(length),
      sessionTransport: 'cookie',
    })
  let longest = 0
  for (let step = 2_048; step >= 1; step /= 2) if (await fits(longest + step)) longest += step
  await expect(prepare(longest)).rejects.toThrow('at most')
  await expect(prepare(longest - 20)).resolves.toBeTypeOf('function')
})
