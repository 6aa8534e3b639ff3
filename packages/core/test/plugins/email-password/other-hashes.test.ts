import { hash } from '@node-rs/bcrypt'
import { createAuth, defineAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { emailPassword, type OtherHash } from '@sallyport/core/plugins/email-password'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { otherHashes } from '../../../src/plugins/email-password/other-hashes.ts'
import { verifyPassword } from '../../../src/plugins/email-password/password.ts'
import { createIssuer } from '../../support/create-issuer.ts'
import { post } from '../../support/requests.ts'

/** Its ligature becomes two letters in the normal form that scrypt libraries use. */
const PASSWORD = 'correct horse ﬁ battery staple'

/** Written by the libraries themselves. `LegacyScrypt` of lucia 3 verifies the one of version 1. */
const VECTORS = {
  'better-auth 1.7.25':
    'e7b27b2a1bae34de679f34f0e7f78512:d3551951276b8b41bce3ea1b08afc368eff80e8dfa7fb047bdc0e60537bd8796b0d3708425f95767ccb7b3befdc9b023205eabe3eacc4b89ec77d3deaab26399',
  'lucia 3.2.2':
    '9a33e1c13cabcd7258fe4ad6db235af0:80164d4067a357ed850093f0f6d7cce604af06e0de8846c69db0fa113cdd409a7c9978f57a619e25e9911592783883630b1b012fc283665f47696b9b6b18a858',
  'LegacyScrypt of lucia 3.2.2':
    's2:fcf01cb0876c08cc13da5e318d8a1d2e:749b4cccaaa5386323a968947a3caf124b4164d78a949add52f095771e2584d61d76766a264d5d44a75b0005fd5c7b41c5c5ecb92c74e623b6de6c527dbd43e8',
  'lucia 2.7.7':
    's2:5julm60gf8xtp5pf:57d10561a52e7a3815405859318f8d7c380d9fe401735985bc9abe61a404c3c13265da594f309c84316d8365e4e183bde1648bd2f9fc83c924e403d7cf4705da',
  'lucia 1':
    'abcdefgh12345678:212eb3977b5c2e657b93f6ff16ec4b46f5bfe71c99f642667f0ea3b879a56838f63fc3bd046897bd80c2a8366f234d7b8186e67e86eedebf66ec671ef9727c12',
  'oslo 1.2.1':
    'f412d68a51bb0cfbabba2b6f72260dd8:fa0922c03439fedb41471cdd18b18fe88980295d372456d354a99245a88bea301c3182f52658fb7cdf707b4c4e76dc29de5d43a91784280d2f4ddb0355fb6b9d',
  '@node-rs/bcrypt 2.0.0': '$2b$08$Yd0pZSUgBIoNXnT8Vcboku7WqzKDVFm.mLRASvo1fSHv2UCwy5Hh.',
  'bcryptjs 3': '$2b$08$1rXwb9CNweSYG9UjMv3Uf.JIkTgAHvepSVMKWyQlphiZ1M8ACyb/S',
} as const

const KINDS = [
  ['better-auth', 'better-auth 1.7.25'],
  ['lucia', 'lucia 3.2.2'],
  ['lucia', 'LegacyScrypt of lucia 3.2.2'],
  ['lucia', 'lucia 2.7.7'],
  ['lucia', 'lucia 1'],
  ['lucia', 'oslo 1.2.1'],
  ['bcrypt', '@node-rs/bcrypt 2.0.0'],
  ['bcrypt', 'bcryptjs 3'],
] as const

describe.each(KINDS)('the hashes of %s, written by %s', (kind, library) => {
  const hash = VECTORS[library]
  const others = otherHashes([kind])

  test('match the password, and no other', async () => {
    expect(await verifyPassword(PASSWORD, hash, { others })).toBe(true)
    expect(await verifyPassword(`${PASSWORD} `, hash, { others })).toBe(false)
    expect(await verifyPassword('', hash, { others })).toBe(false)
  })

  test('match nothing unless the kind is accepted', async () => {
    expect(await verifyPassword(PASSWORD, hash)).toBe(false)
  })
})

test.each(['$2a$', '$2y$'])('bcrypt hashes with the prefix %s match', async (prefix) => {
  const hash = VECTORS['bcryptjs 3'].replace('$2b$', prefix)
  expect(await verifyPassword(PASSWORD, hash, { others: otherHashes(['bcrypt']) })).toBe(true)
})

test.each([
  ['of bcrypt with a cost of 31', VECTORS['bcryptjs 3'].replace('$08$', '$31$')],
  ['of bcrypt with a cost of 15', VECTORS['bcryptjs 3'].replace('$08$', '$15$')],
  ['of bcrypt with a cost of 3', VECTORS['bcryptjs 3'].replace('$08$', '$03$')],
  ['of bcrypt that is too short', VECTORS['bcryptjs 3'].slice(0, -1)],
  ['of scrypt that is too long', `${VECTORS['better-auth 1.7.25']}00`],
  ['of scrypt with another version', VECTORS['lucia 2.7.7'].replace('s2:', 's3:')],
  ['of argon2 with 4 GiB of memory', '$argon2id$v=19$m=4194304,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo'],
  ['of argon2 with a million passes', '$argon2id$v=19$m=8,t=1000000,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo'],
  ['of argon2 with a hundred lanes', '$argon2id$v=19$m=800,t=1,p=100$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo'],
])('a hash %s is never verified', async (_name, hash) => {
  for (const kind of otherHashes(['better-auth', 'lucia', 'bcrypt'])) expect(kind.matches(hash)).toBe(false)
  expect(await verifyPassword(PASSWORD, hash)).toBe(false)
})

/** A kind of the app's own. */
function plainHash() {
  const verify = vi.fn<OtherHash['verify']>(async (password, hash) => hash === `plain:${password}`)
  return { dummy: 'plain:?', matches: (hash: string) => hash.startsWith('plain:'), verify }
}

test('every kind does its work for every account, and a dummy never matches', async () => {
  const plain = plainHash()
  const others = otherHashes([plain])
  expect(await verifyPassword('right', 'plain:right', { others })).toBe(true)
  for (const hash of [null, 'unknown', VECTORS['lucia 2.7.7']])
    expect(await verifyPassword('?', hash, { others })).toBe(false)
  expect(plain.verify.mock.calls).toEqual([['right', 'plain:right'], ...Array(3).fill(['?', 'plain:?'])])
  expect(otherHashes(['better-auth', 'lucia'])).toHaveLength(1)
})

test('the dummies of all kinds are hashes of their kind', () => {
  for (const { dummy, matches } of otherHashes(['lucia', 'bcrypt'])) expect(matches(dummy)).toBe(true)
})

describe('sign-in with a hash of another library', async () => {
  const auth = await createTestAuth({ emailPassword: { otherHashes: ['better-auth', 'bcrypt'] } })
  afterAll(() => auth.close())
  const passwordOf = async (userId: string) =>
    (await auth.db.selectFrom('account').select('password').where('userId', '=', userId).execute())[0]
  async function migratedUser() {
    const user = await auth.createUser()
    const password = VECTORS['better-auth 1.7.25']
    await auth.db.updateTable('account').set({ password }).where('userId', '=', user.userId).execute()
    return user
  }
  const signIn = (email: string, password: string, handler = auth.handler) =>
    handler(post(ENDPOINTS.signInEmail.path, { email, password }))

  test('replaces it with argon2id if the password is right', async () => {
    const { userId, email } = await migratedUser()
    expect((await signIn(email, 'wrong password')).status).toBe(401)
    expect(await passwordOf(userId)).toEqual({ password: VECTORS['better-auth 1.7.25'] })
    const password = PASSWORD.normalize('NFKC')
    expect((await signIn(email, password)).status).toBe(200)
    expect((await passwordOf(userId))?.password).toMatch(/^\$argon2id\$/)
    expect((await signIn(email, password)).status).toBe(200)
  })

  test('keeps it for a password that another device may write with other characters', async () => {
    const { userId, email } = await migratedUser()
    expect((await signIn(email, PASSWORD)).status).toBe(200)
    expect(await passwordOf(userId)).toEqual({ password: VECTORS['better-auth 1.7.25'] })
    expect((await signIn(email, PASSWORD.normalize('NFKC'))).status).toBe(200)
  })

  test('keeps a hash of bcrypt for a password of more than 72 bytes, of which it has the first 72', async () => {
    const { userId, email } = await auth.createUser()
    const start = 'a'.repeat(72)
    for (const [given, kept] of [
      [`${start}typo`, true],
      [start, false],
    ] as const) {
      const password = await hash(start, { cost: 4 })
      await auth.db.updateTable('account').set({ password }).where('userId', '=', userId).execute()
      expect((await signIn(email, given)).status).toBe(200)
      expect((await passwordOf(userId))?.password === password).toBe(kept)
    }
  })

  test('confirms the password of a signed-in user', async () => {
    const user = await migratedUser()
    const { cookie } = await auth.signIn(user)
    const confirm = (password: string) =>
      auth.handler(post(ENDPOINTS.reauthenticate.path, { password }, { cookie }))
    expect((await confirm('wrong password')).status).toBe(401)
    expect((await confirm(PASSWORD)).status).toBe(200)
  })
})

test("sign-in never replaces a hash in tables with the app's names", async () => {
  const { config, signingKeys } = await createIssuer()
  const plugins = [emailPassword({ otherHashes: ['better-auth'] })]
  const opened = await openSqlite(':memory:')
  const definition = defineAuth({ config, signingKeys, plugins })
  const auth = await createAuth(definition, { ...opened, names: new Map() }, { pruneEverySeconds: 0 })
  const input = { name: 'Ada', email: 'ada@example.com', password: 'some other password' }
  await auth.handler(post(ENDPOINTS.signUpEmail.path, input))
  const password = VECTORS['better-auth 1.7.25']
  await opened.db.updateTable('account').set({ password }).execute()
  const { email } = input
  const response = await auth.handler(post(ENDPOINTS.signInEmail.path, { email, password: PASSWORD }))
  expect(response.status).toBe(200)
  expect(await opened.db.selectFrom('account').select('password').execute()).toEqual([{ password }])
  auth.close()
  await opened.close()
})
