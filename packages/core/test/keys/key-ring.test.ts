import { isDeepStrictEqual } from 'node:util'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { describe, expect, test } from 'vitest'
import {
  activeKey,
  addNextKey,
  createKeyRing,
  type KeyRing,
  type KeyState,
  PUBLISH_SECONDS,
  publicKeys,
  retireKey,
  revokeKey,
  rotateKeys,
  withoutGone,
} from '../../src/keys/key-ring.ts'
import { formatKeyRing, parseKeyRing } from '../../src/keys/key-ring-json.ts'
import { type PrivateJwk, parsePublicJwks } from '../../src/keys/policy.ts'
import { messageOf } from '../support/message-of.ts'
import { createRandom } from '../support/random.ts'

const [a, b, c, ec] = await Promise.all([
  createSigningKey(),
  createSigningKey(),
  createSigningKey(),
  createSigningKey('ES256'),
])
const DAY_SECONDS = 86_400
/** How long a key retires: the lifetime of the longest JWT plus the handover. */
const RETIRING_SECONDS = 900 + 60

const start = new Date('2026-11-21T10:00:00.000Z')
const after = (seconds: number) => new Date(start.getTime() + seconds * 1000)

/** Creates a ring with these keys, each in its state since the start. */
function ringOf(states: readonly (readonly [PrivateJwk, KeyState])[], revoked: string[] = []): KeyRing {
  return {
    keys: states.map(([jwk, state]) => ({ jwk, state, since: start })),
    revoked: revoked.map((kid) => ({ kid, at: start })),
  }
}

/** Returns the ids of the keys by state, and the leaked ones. */
function summary({ keys, revoked }: KeyRing): Record<string, string[]> {
  const kids = (state: KeyState) => keys.filter((key) => key.state === state).map(({ jwk }) => jwk.kid)
  return {
    next: kids('next'),
    active: kids('active'),
    retiring: kids('retiring'),
    revoked: revoked.map(({ kid }) => kid),
  }
}

const one = ringOf([[a, 'active']])
const two = ringOf([
  [a, 'active'],
  [b, 'next'],
])
const three = ringOf([
  [a, 'retiring'],
  [b, 'active'],
  [c, 'next'],
])

describe('a key goes from next to active to retiring, and is removed', () => {
  const ready = { now: after(PUBLISH_SECONDS), force: false }
  const early = { now: after(1), force: false }
  const forced = { now: after(1), force: true }

  test.each([
    ['the first key signs', () => createKeyRing(a, start), { active: [a.kid] }],
    ['another is published', () => addNextKey(one, b, { now: start }), { active: [a.kid], next: [b.kid] }],
    ['it signs', () => rotateKeys(two, ready), { active: [b.kid], retiring: [a.kid] }],
    ['it signs at once', () => rotateKeys(two, forced), { active: [b.kid], retiring: [a.kid] }],
    ['the active key retires', () => retireKey(two, a.kid, ready), { active: [b.kid], retiring: [a.kid] }],
    ['a next key is withdrawn', () => retireKey(two, b.kid, early), { active: [a.kid] }],
    [
      'a retiring key keeps retiring',
      () => retireKey(three, a.kid, early),
      { retiring: [a.kid], active: [b.kid], next: [c.kid] },
    ],
    [
      'the active key leaked: the next one signs at once',
      () => revokeKey(two, a.kid, early.now),
      { active: [b.kid], revoked: [a.kid] },
    ],
    ['the next key leaked', () => revokeKey(two, b.kid, early.now), { active: [a.kid], revoked: [b.kid] }],
    [
      'a retiring key leaked',
      () => revokeKey(three, a.kid, early.now),
      { active: [b.kid], next: [c.kid], revoked: [a.kid] },
    ],
  ])('%s', (_name, change, expected) => {
    const none = { next: [], active: [], retiring: [], revoked: [] }
    expect(summary(change())).toEqual({ ...none, ...expected })
  })

  const crowded = ringOf([
    [a, 'active'],
    ...Array.from({ length: 19 }, (_, i) => [{ ...b, kid: `k${i}` }, 'retiring'] as const),
  ])

  test.each([
    ['a second next key', () => addNextKey(two, c, { now: start }), 'has a next key already'],
    ['a key that makes the set too large', () => addNextKey(crowded, c, { now: start }), 'has 20 keys'],
    ['a rotation without a next key', () => rotateKeys(one, forced), 'has no next key'],
    ['a rotation a second after the key was published', () => rotateKeys(two, early), 'another 599 s'],
    [
      'a rotation a millisecond too early',
      () => rotateKeys(two, { now: after(PUBLISH_SECONDS - 0.001), force: false }),
      'another 1 s',
    ],
    ['to retire the active key without a next one', () => retireKey(one, a.kid, ready), 'has no next key'],
    ['to retire the active key too early', () => retireKey(two, a.kid, early), 'another 599 s'],
    ['to retire an unknown key', () => retireKey(two, c.kid, ready), 'Key not found'],
    ['to revoke an unknown key', () => revokeKey(two, c.kid, start), 'Key not found'],
    ['to revoke the only key', () => revokeKey(one, a.kid, start), 'No key can replace this one'],
    [
      'revoking the active key with only a retiring one left',
      () =>
        revokeKey(
          ringOf([
            [a, 'active'],
            [b, 'retiring'],
          ]),
          a.kid,
          start,
        ),
      'No key can replace this one',
    ],
  ])('rejected: %s', (_name, change, message) => {
    expect(messageOf(change)).toContain(message)
  })

  test('a full ring has room again when its retiring keys are removed', () => {
    const ring = addNextKey(crowded, c, { now: after(RETIRING_SECONDS) })
    expect(summary(ring)).toMatchObject({ active: [a.kid], next: [c.kid], retiring: [] })
  })

  test('a state begins when the key enters it', () => {
    const now = after(PUBLISH_SECONDS)
    expect(rotateKeys(two, { now, force: false }).keys.map(({ since }) => since)).toEqual([now, now])
    const [, next] = addNextKey(one, b, { now }).keys
    expect(next).toMatchObject({ state: 'next', since: now })
  })

  test('no change modifies the original ring', () => {
    const before = JSON.stringify(two)
    rotateKeys(two, forced)
    retireKey(two, b.kid, early)
    revokeKey(two, a.kid, start)
    expect(JSON.stringify(two)).toBe(before)
  })
})

describe('a retiring key is removed when the last JWT that it signed has expired', () => {
  const ring = ringOf([
    [a, 'retiring'],
    [b, 'active'],
    [c, 'next'],
  ])
  const kept = { retiring: [a.kid], active: [b.kid], next: [c.kid] }
  const gone = { ...kept, retiring: [] }

  test.each([
    ['at once', 0, undefined, kept],
    ['when its last JWT expires', 900, undefined, kept],
    ['a millisecond before the end of the handover', RETIRING_SECONDS - 0.001, undefined, kept],
    ['at the end of the handover', RETIRING_SECONDS, undefined, gone],
    ['after 16 minutes if JWTs live an hour', RETIRING_SECONDS, 3_600, kept],
    ['after that hour and the handover', 3_660, 3_600, gone],
    ['after 70 s if JWTs live 10 s', 70, 10, gone],
  ])('%s', (_name, seconds, jwtLifetimeSeconds, expected) => {
    const options = {
      now: after(seconds),
      force: true,
      ...(jwtLifetimeSeconds !== undefined && { jwtLifetimeSeconds }),
    }
    expect(summary(withoutGone(ring, options))).toMatchObject(expected)
    // Every change to the ring also drops it.
    expect(retireKey(ring, a.kid, options).keys.some(({ jwk }) => jwk === a)).toBe(expected === kept)
    expect(rotateKeys(ring, options).keys.some(({ jwk }) => jwk === a)).toBe(expected === kept)
  })

  test('never removes a key that signs or will sign', () => {
    expect(withoutGone(two, { now: after(1_000 * DAY_SECONDS) })).toEqual(two)
  })
})

describe('a revoked key', () => {
  test('is remembered for 30 days', () => {
    const leaked = revokeKey(three, a.kid, start)
    const revokedAfter = (seconds: number) => summary(revokeKey(leaked, c.kid, after(seconds))).revoked
    expect(revokedAfter(30 * DAY_SECONDS - 1)).toEqual([a.kid, c.kid])
    expect(revokedAfter(30 * DAY_SECONDS)).toEqual([c.kid])
    const listedAfter = (seconds: number) => summary(withoutGone(leaked, { now: after(seconds) })).revoked
    expect(listedAfter(30 * DAY_SECONDS - 1)).toEqual([a.kid])
    expect(listedAfter(30 * DAY_SECONDS)).toEqual([])
  })

  test('is remembered through every other change', () => {
    let ring = revokeKey(two, a.kid, start)
    ring = addNextKey(ring, c, { now: start })
    ring = rotateKeys(ring, { now: after(PUBLISH_SECONDS), force: false })
    ring = withoutGone(ring, { now: after(DAY_SECONDS) })
    expect(summary(parseKeyRing(formatKeyRing(ring), 'ring'))).toEqual({
      next: [],
      active: [c.kid],
      retiring: [],
      revoked: [a.kid],
    })
  })

  test('is named in the public set, and that member is absent if no key leaked', () => {
    expect(publicKeys(revokeKey(two, a.kid, start))).toEqual({
      keys: [expect.objectContaining({ kid: b.kid })],
      revoked: [a.kid],
    })
    expect(publicKeys(two)).not.toHaveProperty('revoked')
    expect(JSON.parse(formatKeyRing(two))).not.toHaveProperty('revoked')
  })
})

describe('names a fault by its member, without quoting private values', () => {
  const secret = 'c2VjcmV0LW9mLTMyLWJ5dGVzLXRoYXQtbm9ib2R5LXNlZQ'
  const key = (members: object) => ({ keys: [a, { ...b, state: 'retiring', ...members }] })
  const revoked = (value: unknown) => ({ keys: [a], revoked: value })

  test.each([
    ['ring is not JSON', '{'],
    ['ring is not JSON: it is empty', ''],
    ['ring must be a JWK Set', null],
    ['ring must be a JWK Set', [a]],
    ['ring has no key', { keys: [] }],
    ['ring has 21 keys', { keys: Array.from({ length: 21 }, (_, i) => ({ ...a, kid: `k${i}` })) }],
    ['ring: keys[1].state', key({ state: 'gone' })],
    ['ring: keys[1].state', key({ state: null })],
    ['ring: keys[1].state', key({ state: secret })],
    ['ring: keys[1].since', key({ since: 'yesterday' })],
    ['ring: keys[1].since', key({ since: 1 })],
    ['ring: keys[1].since', key({ since: null })],
    ['ring: keys[1].since', key({ since: secret })],
    ['ring: keys[1].d', key({ d: undefined })],
    ['ring: keys[1].d', key({ d: secret.slice(1) })],
    ['ring: keys[1].x', key({ x: secret.slice(1) })],
    ['ring: keys[1].alg', key({ alg: secret })],
    ['ring: keys[1].alg', key({ alg: 'RS256', kty: 'RSA', n: `${'n'.repeat(341)}A`, e: 'AQAB' })],
    ['ring: keys[1].kid', key({ kid: a.kid })],
    ['ring: keys[1].kid', key({ kid: undefined })],
    ['ring has 2 keys that are active', key({ state: 'active' })],
    ['ring has 0 keys that are active', { keys: [{ ...a, state: 'next' }] }],
    ['ring has 2 keys that are next', { keys: [a, { ...b, state: 'next' }, { ...c, state: 'next' }] }],
    ['ring: revoked must be a list', revoked({})],
    ['ring: revoked must be a list', revoked(null)],
    ['ring: revoked[0].kid', revoked([a.kid])],
    ['ring: revoked[0].kid', revoked([null])],
    ['ring: revoked[0].kid', revoked([{ at: start }])],
    ['ring: revoked[1].at', revoked([{ kid: 'x', at: start.toISOString() }, { kid: 'y' }])],
    ['ring: revoked[0].at', revoked([{ kid: 'x', at: secret }])],
  ])('%s', (message, json) => {
    const rejection = messageOf(() => parseKeyRing(json, 'ring'))
    expect(rejection).toContain(message)
    for (const hidden of [a.d, b.d, secret]) expect(rejection).not.toContain(hidden.slice(0, 8))
  })
})

describe('a thousand random ring histories', () => {
  const pool = [a, b, c, ec] as const
  const CHANGES = ['create', 'rotate', 'force', 'retire', 'revoke', 'wait'] as const

  /** Simulates one history: successive changes, and every ring between them. */
  function live(seed: number): KeyRing[] {
    const random = createRandom(seed)
    let [now, serial] = [start, 0]
    const newKey = (): PrivateJwk => ({ ...random.pick(pool), kid: `${seed}-${serial++}` })
    const rings = [createKeyRing(newKey(), now)]
    for (let i = 0; i < 12; i++) {
      const ring = rings.at(-1) ?? rings[0]
      if (ring === undefined) break
      const kid = ring.keys[random.below(ring.keys.length)]?.jwk.kid ?? ''
      const changes = {
        create: () => addNextKey(ring, newKey(), { now }),
        rotate: () => rotateKeys(ring, { now, force: false }),
        force: () => rotateKeys(ring, { now, force: true }),
        retire: () => retireKey(ring, kid, { now, force: false }),
        revoke: () => revokeKey(ring, kid, now),
        wait: () => withoutGone(ring, { now }),
      }
      now = new Date(now.getTime() + random.below(1_200) * 1000)
      const change = changes[random.pick(CHANGES)]
      if (messageOf(change) === 'accepted') rings.push(change())
    }
    return rings
  }

  const rings = Array.from({ length: 1_000 }, (_, seed) => live(seed)).flat()

  test('every ring has one signing key and at most one next key, and can be written and read unchanged', () => {
    expect(rings.length).toBeGreaterThan(4_000)
    const count = (ring: KeyRing, wanted: string) => ring.keys.filter(({ state }) => state === wanted).length
    // An expectation for each of thousands of rings would take most of the time.
    const wrong = rings.filter(
      (ring) =>
        count(ring, 'active') !== 1 ||
        count(ring, 'next') > 1 ||
        !isDeepStrictEqual(parseKeyRing(formatKeyRing(ring), 'ring'), ring),
    )
    expect(wrong).toEqual([])
  })

  test('the public set has the signing key, no revoked keys, and no private keys', () => {
    const isPublic = (name: string) => ['kty', 'crv', 'alg', 'use', 'kid', 'x', 'y'].includes(name)
    const wrong = rings.filter((ring) => {
      const jwks = publicKeys(ring)
      const text = JSON.stringify(jwks)
      const kids = jwks.keys.map(({ kid }) => kid)
      const parsed = parsePublicJwks(text, 'JWKS').map(({ kid }) => kid)
      return (
        !isDeepStrictEqual(parsed, kids) ||
        !kids.includes(activeKey(ring).jwk.kid) ||
        ring.revoked.some(({ kid }) => kids.includes(kid)) ||
        !jwks.keys.every((key) => Object.keys(key).every(isPublic)) ||
        pool.some(({ d }) => text.includes(d))
      )
    })
    expect(wrong).toEqual([])
  })
})

test('a ring without a signing key is an error, not undefined', () => {
  expect(messageOf(() => activeKey(ringOf([[a, 'retiring']])))).toContain('no active key')
})
