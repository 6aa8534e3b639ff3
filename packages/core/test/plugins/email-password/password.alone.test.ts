import { hash } from '@node-rs/argon2'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  dummyHash,
  givenPassword,
  hashPassword,
  isOutdated,
  newPassword,
  type Requester,
  verifyPassword,
} from '../../../src/plugins/email-password/password.ts'
import { eventually } from '../../support/eventually.ts'
import { openBrowser } from '../../support/open-browser.ts'
import { reasonOf } from '../../support/reason-of.ts'

/** What argon2 was asked to verify, and a way to block it. */
const argon2 = vi.hoisted(() => ({
  verified: [] as string[],
  running: 0,
  most: 0,
  gate: Promise.resolve() as Promise<unknown>,
}))
vi.mock('@node-rs/argon2', async (importOriginal) => {
  const original = await importOriginal<typeof import('@node-rs/argon2')>()
  const verify: typeof original.verify = async (hash, password) => {
    argon2.verified.push(`${hash}`)
    argon2.running++
    argon2.most = Math.max(argon2.most, argon2.running)
    try {
      await argon2.gate
      return await original.verify(hash, password)
    } finally {
      argon2.running--
    }
  }
  return { ...original, verify }
})
vi.mock('node:os', async (importOriginal) => ({
  ...(await importOriginal<typeof import('node:os')>()),
  availableParallelism: () => 2,
}))

beforeEach(() => {
  argon2.verified.length = 0
  argon2.most = 0
})

const cost = (hash: string | undefined) => hash?.split('$').slice(0, 4)

test('a hash is argon2id with 19 MiB, two passes, and one lane, and different every time', async () => {
  const hashes = await Promise.all([hashPassword('secret'), hashPassword('secret')])
  expect(hashes[0]).not.toBe(hashes[1])
  for (const hash of hashes) {
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect(isOutdated(hash)).toBe(false)
  }
})

test.each([
  ['another memory', '$argon2id$v=19$m=65536,t=2,p=1$c2FsdA$aGFzaA'],
  ['other passes', '$argon2id$v=19$m=19456,t=3,p=1$c2FsdA$aGFzaA'],
  ['other lanes', '$argon2id$v=19$m=19456,t=2,p=4$c2FsdA$aGFzaA'],
  ['another variant', '$argon2i$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA'],
  ['another version', '$argon2id$v=16$m=19456,t=2,p=1$c2FsdA$aGFzaA'],
  ['another kind', '$2b$12$abcdefghijklmnopqrstuu'],
])('a hash of %s is outdated', (_name, hash) => {
  expect(isOutdated(hash)).toBe(true)
})

describe('verifies a password', () => {
  test('against its own hash, to the last byte', async () => {
    const hash = await hashPassword('correct horse')
    expect(await verifyPassword('correct horse', hash)).toBe(true)
    for (const wrong of ['correct hors', 'correct horse ', 'Correct horse', '']) {
      expect(await verifyPassword(wrong, hash)).toBe(false)
    }
  })

  test('against a hash of the same cost if there is no hash, and returns false', async () => {
    const hash = await hashPassword('correct horse')
    await verifyPassword('wrong', hash)
    expect(await verifyPassword('wrong', null)).toBe(false)
    expect(argon2.verified).toHaveLength(2)
    expect(cost(argon2.verified[0])).toEqual(cost(argon2.verified[1]))
    expect(argon2.verified[1]).toBe(await dummyHash())
  })
})

test.each([
  ['of another kind', '$2b$12$abcdefghijklmnopqrstuuTq1pQ0Ww3o6W8x1Yb0vC8nH1J2kL3mO'],
  ['that is the password itself', 'correct horse'],
  ['that is empty', ''],
])('treats a hash %s as missing: the same work, and no error', async (_name, hash) => {
  expect(await verifyPassword('correct horse', hash)).toBe(false)
  expect(argon2.verified).toEqual([await dummyHash()])
})

test('the placeholder password gives access to no account', async () => {
  const placeholder = crypto.randomUUID()
  const randomUUID = vi.spyOn(crypto, 'randomUUID').mockReturnValueOnce(placeholder)
  vi.resetModules()
  const anew = await import('../../../src/plugins/email-password/password.ts')
  expect(await anew.verifyPassword(placeholder, await anew.dummyHash())).toBe(true)
  expect(await anew.verifyPassword(placeholder, null)).toBe(false)
  randomUUID.mockRestore()
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
  expect(argon2.verified).toHaveLength(2)
  expect(cost(argon2.verified[0])).toEqual(cost(argon2.verified[1]))
  await auth.close()
})

describe('password hashing is queued', () => {
  /** Starts this many checks at once. All of them wait until they are released. */
  async function begin(count: number, requester?: Requester) {
    const cheap = await hash('x', { memoryCost: 8, timeCost: 1, parallelism: 1 })
    let release: (value?: unknown) => void = () => {}
    argon2.gate = new Promise((resolve) => {
      release = resolve
    })
    const answers = Array.from({ length: count }, () => reasonOf(verifyPassword('x', cheap, { requester })))
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    return { cheap, release, answers: () => Promise.all(answers) }
  }

  test('and runs as many at once as there are processors', async () => {
    const { release, answers } = await begin(6)
    expect(argon2.running).toBe(2)
    release()
    expect(await answers()).toEqual(Array(6).fill('accepted'))
    expect(argon2.most).toBe(2)
  })

  test.each([
    ['unknown', 100, undefined],
    ['unknown', 100, 'unknown'],
    ['known', 200, 'known'],
  ] as const)(
    'and rejects a requester that is %s with 503 behind %i others',
    async (_name, longest, requester) => {
      const { release, answers } = await begin(2 + longest + 3, requester)
      release()
      const reasons = await answers()
      expect(reasons.slice(0, 2 + longest)).toEqual(Array(2 + longest).fill('accepted'))
      expect(reasons.slice(2 + longest)).toEqual(Array(3).fill('SESSIONS_UNAVAILABLE'))
    },
  )

  test("and a full queue of unknown requesters doesn't block known ones", async () => {
    const { cheap, release, answers } = await begin(2 + 100 + 1)
    const known = [
      reasonOf(verifyPassword('x', cheap, { requester: 'known' })),
      reasonOf(hashPassword('x', 'known')),
    ]
    const unknown = reasonOf(hashPassword('x'))
    release()
    expect((await answers()).at(-1)).toBe('SESSIONS_UNAVAILABLE')
    expect(await Promise.all(known)).toEqual(['accepted', 'accepted'])
    expect(await unknown).toBe('SESSIONS_UNAVAILABLE')
  })

  test('and a signed-in user can change the password while unknown requesters are rejected', async () => {
    // After the check, and before the new password is hashed.
    const checked = Promise.withResolvers<void>()
    const auth = await createTestAuth({ emailPassword: { checkPassword: async () => checked.resolve() } })
    const { email } = await auth.createUser()
    const browser = openBrowser(auth)
    await browser.signIn(email)
    const confirmed = Promise.withResolvers<void>()
    argon2.gate = confirmed.promise
    const passwords = { currentPassword: TEST_PASSWORD, newPassword: 'another horse battery staple' }
    const changed = browser.call('changePassword', passwords)
    await eventually(() => expect(argon2.running).toBe(1))
    const { release, answers } = await begin(150, 'known')
    confirmed.resolve()
    await checked.promise
    const unknown = reasonOf(hashPassword('x'))
    await new Promise((resolve) => setImmediate(resolve))
    release()
    expect((await changed).status).toBe('200')
    expect(await unknown).toBe('SESSIONS_UNAVAILABLE')
    await answers()
    await auth.close()
  })

  test('and a password that it rejects does not use up the limit', async () => {
    const limits = { account: { points: 2, duration: 60 } }
    const auth = await createTestAuth({ emailPassword: { limits }, onFailure() {} })
    const { email } = await auth.createUser()
    const [known, stranger] = [openBrowser(auth), openBrowser(auth)]
    await known.signIn(email)
    const calls = [
      () => stranger.signIn(email),
      () => known.signIn(email),
      () => known.call('reauthenticate', { password: TEST_PASSWORD }),
    ]
    const { release, answers } = await begin(2 + 200, 'known')
    for (const call of calls)
      for (let attempt = 0; attempt < 3; attempt++)
        expect((await call()).status).toBe('503 SESSIONS_UNAVAILABLE')
    release()
    await answers()
    for (const call of calls) expect((await call()).status).toBe('200')
    await auth.close()
  })
})

describe('the length and content of a password', () => {
  test.each([
    ['empty', '', false, true],
    ['of 7 characters', 'a'.repeat(7), false, true],
    ['of 7 characters in 14 units', '🚪'.repeat(7), false, true],
    ['of 8 characters', 'a'.repeat(8), true, true],
    ['of 8 characters in 16 units', '🚪'.repeat(8), true, true],
    ['of 256 characters', 'a'.repeat(256), true, true],
    ['of 256 characters in 512 units', '🚪'.repeat(256), true, true],
    ['of 257 characters', 'a'.repeat(257), false, false],
    ['of 257 characters in 514 units', '🚪'.repeat(257), false, false],
    ['of 10,000 characters', 'a'.repeat(10_000), false, false],
    ['ended by half a character', `${'a'.repeat(8)}\ud83d`, false, false],
    ['begun with half a character', `\ude80${'a'.repeat(8)}`, false, false],
    ['of white space', ' '.repeat(8), true, true],
    ['of control characters', '\u0000\u0007'.repeat(4), true, true],
  ])('%s', (_name, password, isNew, isGiven) => {
    expect(newPassword.safeParse(password).success).toBe(isNew)
    expect(givenPassword.safeParse(password).success).toBe(isGiven)
    if (isNew) expect(newPassword.parse(password)).toBe(password)
  })
})
