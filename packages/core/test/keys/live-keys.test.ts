import type { Algorithm } from '@sallyport/core'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { expect, test } from 'vitest'
import { toPublicJwk } from '../../src/keys/key-ring.ts'
import { createLiveKeys } from '../../src/keys/live-keys.ts'
import type { PublicJwk } from '../../src/keys/policy.ts'
import { reasonOf } from '../support/reason-of.ts'

const newKey = async (alg?: Algorithm): Promise<PublicJwk> => toPublicJwk(await createSigningKey(alg))
const [a, b, ec] = await Promise.all([newKey(), newKey(), newKey('ES256')])

test('an empty set has no key, and rejects every key', () => {
  const live = createLiveKeys()
  expect(live.version).toBe(0)
  expect(live.findKey(a.kid)).toBeUndefined()
  expect(live.status(a.kid)).toBe('gone')
})

test('a key is known, then gone or revoked', async () => {
  const live = createLiveKeys()
  await live.replace([a, b, ec], [])
  expect(live.findKey(a.kid)).toMatchObject({ kid: a.kid, alg: 'Ed25519' })
  expect([a, b, ec].map(({ kid }) => live.status(kid))).toEqual(['known', 'known', 'known'])
  await live.replace([ec], [b.kid])
  expect([a, b, ec].map(({ kid }) => live.status(kid))).toEqual(['gone', 'revoked', 'known'])
  expect([a, b].map(({ kid }) => live.findKey(kid))).toEqual([undefined, undefined])
})

test('lists the keys of the set', async () => {
  const live = createLiveKeys()
  await live.replace([a, ec], [])
  expect(Array.from(live.keys(), ({ kid }) => kid)).toEqual([a.kid, ec.kid])
})

test("a revoked key isn't valid, even if it is still among the keys", async () => {
  const live = createLiveKeys()
  await live.replace([a, b], [a.kid])
  expect(live.status(a.kid)).toBe('revoked')
  expect(live.findKey(a.kid)).toBeUndefined()
})

test.each(['', '__proto__', 'constructor', 'toString'])('finds no key %j', async (kid) => {
  const live = createLiveKeys()
  await live.replace([a], [])
  expect(live.findKey(kid)).toBeUndefined()
  expect(live.status(kid)).toBe('gone')
})

test('every change, and nothing else, raises the version and calls every listener', async () => {
  const live = createLiveKeys()
  const versions: number[] = []
  const stop = live.subscribe(() => versions.push(live.version))
  await live.replace([a], [])
  await live.replace([{ ...a }], [])
  await live.replace([a, b], [])
  await live.replace([a], [b.kid])
  expect(versions).toEqual([1, 2, 3])
  stop()
  await live.replace([b], [])
  expect(versions).toEqual([1, 2, 3])
})

test('a listener sees the new set', async () => {
  const live = createLiveKeys()
  await live.replace([a], [])
  const seen: unknown[] = []
  live.subscribe(() => seen.push(live.status(a.kid), live.status(b.kid)))
  await live.replace([b], [a.kid])
  expect(seen).toEqual(['revoked', 'known'])
})

test('calls a listener that subscribes twice twice, and unsubscribes one at a time', async () => {
  const live = createLiveKeys()
  let calls = 0
  const listener = () => {
    calls++
  }
  const stop = live.subscribe(listener)
  live.subscribe(listener)
  await live.replace([a], [])
  stop()
  await live.replace([b], [])
  expect(calls).toBe(3)
})

test('rejects a whole set with an invalid key, and keeps the earlier set', async () => {
  const live = createLiveKeys()
  await live.replace([a], [])
  let calls = 0
  live.subscribe(() => calls++)
  // Long enough for a coordinate, but on no point of the curve.
  const offCurve = { ...ec, kid: 'off', x: `${'A'.repeat(42)}E` }
  expect(await reasonOf(live.replace([b, offCurve], [a.kid]))).toBe('KEYS_UNAVAILABLE')
  expect({ version: live.version, calls }).toEqual({ version: 1, calls: 0 })
  expect([a, b].map(({ kid }) => live.status(kid))).toEqual(['known', 'gone'])
})

test('imports keys before they are valid, so no request waits for an import', async () => {
  const live = createLiveKeys()
  await live.replace([a], [])
  const key = live.findKey(a.kid)
  expect(await key?.cryptoKey()).toMatchObject({ type: 'public', usages: ['verify'] })
  expect(await key?.cryptoKey()).toBe(await key?.cryptoKey())
})

test('accepts the configured algorithms', () => {
  expect([...createLiveKeys().algorithms]).toEqual(['Ed25519', 'ES256'])
  expect([...createLiveKeys(['RS256']).algorithms]).toEqual(['RS256'])
})
