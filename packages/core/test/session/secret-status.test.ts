import { describe, expect, test } from 'vitest'
import { GRACE_SECONDS } from '../../src/protocol.ts'
import {
  createSecret,
  createSessionSecret,
  hashSecret,
  type SecretStatus,
  secretStatus,
} from '../../src/session/secret.ts'

const now = new Date('2026-11-21T10:00:00.000Z')
const secondsAgo = (seconds: number) => new Date(now.getTime() - seconds * 1000)

const family = createSecret()
const secrets = {
  first: await createSessionSecret(family, 1),
  second: await createSessionSecret(family, 2),
  third: await createSessionSecret(family, 3),
  previous: await createSessionSecret(family, 4),
  current: await createSessionSecret(family, 5),
}

/**
 * A session at version 5. Its user proved who they are at version 3, and the secret was rotated twice since.
 */
const session = {
  token: await hashSecret(secrets.current),
  previousToken: await hashSecret(secrets.previous),
  rotatedAt: secondsAgo(10),
  tokenFamily: family,
  provedVersion: 3,
}
const status = (secret: string, columns: Partial<typeof session> | { tokenFamily: null } = {}) =>
  secretStatus(secret, { ...session, ...columns }, now)

test.each<[keyof typeof secrets, SecretStatus]>([
  ['current', 'current'],
  ['previous', 'previous'],
  ['third', 'replayed'],
  ['second', 'superseded'],
  ['first', 'superseded'],
])('the %s secret is %s', async (name, expected) => {
  expect(await status(secrets[name])).toBe(expected)
})

describe('the secret before a rotation', () => {
  test.each<[string, Date | null, SecretStatus]>([
    ['at the rotation', now, 'previous'],
    ['at the end of the grace period', secondsAgo(GRACE_SECONDS), 'previous'],
    ['a millisecond after it', secondsAgo(GRACE_SECONDS + 0.001), 'replayed'],
  ])('%s', async (_name, rotatedAt, expected) => {
    expect(await secretStatus(secrets.previous, { ...session, rotatedAt }, now)).toBe(expected)
  })

  test('is superseded once the user has proved who they are', async () => {
    const proved = { ...session, previousToken: null, rotatedAt: null, provedVersion: 5 }
    expect(await secretStatus(secrets.previous, proved, now)).toBe('superseded')
  })
})

describe("a secret that wasn't issued for the session is unknown", () => {
  test.each<[string, () => string | Promise<string>]>([
    ['a random one', () => createSecret()],
    ['an empty one', () => ''],
    ['one of another session', () => createSessionSecret(createSecret(), 1)],
    ['an earlier one with the version changed', () => withVersion(secrets.second, 4)],
    ['an earlier one made to look current', () => withVersion(secrets.first, 5)],
    ['the stored hash', () => session.token],
    ['the key of the family', () => family],
  ])('%s', async (_name, make) => {
    expect(await status(await make())).toBe('unknown')
  })

  test('an earlier secret of a session without a family', async () => {
    expect(await status(secrets.third, { tokenFamily: null })).toBe('unknown')
    expect(await status(secrets.first, { tokenFamily: null })).toBe('unknown')
  })
})

test('without a family, the current and the previous secret are still recognized', async () => {
  expect(await status(secrets.current, { tokenFamily: null })).toBe('current')
  expect(await status(secrets.previous, { tokenFamily: null })).toBe('previous')
})

function withVersion(secret: string, version: number): string {
  const bytes = Buffer.from(secret, 'base64url')
  bytes.writeUInt32BE(version, 32)
  return bytes.toString('base64url')
}
