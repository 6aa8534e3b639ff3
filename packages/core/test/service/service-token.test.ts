import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, test } from 'vitest'
import { createServiceScene } from '../support/service-scene.ts'

const scene = await createServiceScene()

test('a service JWT has exactly these members', async () => {
  const token = await scene.issue()
  expect(decodeProtectedHeader(token)).toEqual({ alg: 'Ed25519', typ: 'svc+jwt', kid: scene.ed25519.kid })
  expect(decodeJwt(token)).toEqual({ ...scene.claims(), jti: expect.any(String) })
})

test('omits absent values', async () => {
  const { act, idempotencyKey, ...others } = scene.claims()
  expect([act, idempotencyKey]).not.toContain(undefined)
  const token = await scene.issue({ actor: null, idempotencyKey: null })
  expect(decodeJwt(token)).toEqual({ ...others, jti: expect.any(String) })
})

describe('rejects before signing', () => {
  test.each<[string, Parameters<typeof scene.issue>, RegExp]>([
    ['an empty path', [{ path: '' }], /^path must be 1 to 200 characters/],
    ['a path with a line break', [{ path: 'a\nb' }], /^path must be/],
    ['an empty key', [{ idempotencyKey: '' }], /^idempotencyKey must be/],
    ['a key of 201 characters', [{ idempotencyKey: 'x'.repeat(201) }], /^idempotencyKey must be/],
    ['half a character', [{ idempotencyKey: '\ud800' }], /^idempotencyKey must be/],
    ['a service without a name', [{}, { service: '' }], /^service must be/],
  ])('%s', async (_what, args, message) => {
    await expect(scene.issue(...args)).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(message),
    })
  })
})

test('issues no token that no listener would accept', async () => {
  const actor = { ...scene.actor, issuer: 'x'.repeat(4_000) }
  await expect(scene.issue({ actor })).rejects.toThrow('at most 3800 characters')
})
