import { describe, expect, test } from 'vitest'
import {
  addMethods,
  missingProof,
  readMethods,
  removeMethods,
  requireKnownFactor,
} from '../../src/session/authentication-methods.ts'
import type { Session } from '../../src/session/session.ts'

const at = (seconds: number) => new Date(seconds * 1000 + 900)

test('a method has the time of its last proof, in whole seconds', () => {
  const signedIn = addMethods(null, ['pwd'], at(10))
  expect(signedIn).toBe('{"pwd":10}')
  expect(addMethods(signedIn, ['otp'], at(20))).toBe('{"pwd":10,"otp":20}')
  expect(addMethods(signedIn, ['pwd'], at(30))).toBe('{"pwd":30}')
  expect(addMethods(signedIn, [], at(30))).toBe(signedIn)
  expect(addMethods(null, [], at(30))).toBeNull()
})

test('a removed factor is no longer proved', () => {
  expect(removeMethods('{"pwd":10,"otp":20}', ['otp', 'recovery'])).toBe('{"pwd":10}')
  expect(removeMethods(null, ['otp'])).toBeNull()
})

test.each([null, '', 'pwd otp', '[]', 'null', '1', '"otp"', '{"otp":"1"}', '{"otp":1.5}', '{"otp":null}'])(
  'the amr %o proves nothing',
  (amr) => {
    expect(readMethods(amr)).toEqual({})
  },
)

test('a setting names a factor that exists, or none', () => {
  for (const factor of ['passkey', 'totp', 'any-second', null] as const)
    expect(() => requireKnownFactor('factor', factor)).not.toThrow()
  for (const factor of ['sms', 'toString'])
    expect(() => requireKnownFactor('admin.factor', JSON.parse(JSON.stringify(factor)))).toThrow(
      `admin.factor: ${factor} is unknown. Use passkey, totp, or any-second.`,
    )
})

test('an impersonated session has no factor, even if its user has proved it', () => {
  const session: Partial<Session> & { impersonatedBy: string } = { amr: '{"otp":10}', impersonatedBy: 'root' }
  const rule = { factor: 'totp', maxAgeSeconds: Number.POSITIVE_INFINITY } as const
  expect(missingProof({ ...session, impersonatedBy: null } as Session & object, rule, at(10))).toBeNull()
  expect(missingProof(session as Session, rule, at(10))).toBe('SESSION_NOT_FRESH')
})

describe('the proof that a rule requires', () => {
  const MAX = Number.POSITIVE_INFINITY
  test.each([
    ['a proof of the identity in time', null, 60, '{}', 60, null],
    ['a proof of the identity a second too old', null, 60, '{}', 61, 'SESSION_NOT_FRESH'],
    ['a code in time', 'totp', 60, '{"otp":10}', 70, null],
    ['a code a second too old', 'totp', 60, '{"otp":10}', 71, 'SESSION_NOT_FRESH'],
    ['a code of any age', 'totp', MAX, '{"otp":10}', 1_000_000, null],
    ['a password instead of a code', 'totp', 60, '{"pwd":10}', 10, 'FACTOR_REQUIRED'],
    ['a passkey instead of a code', 'totp', 60, '{"passkey":10}', 10, 'FACTOR_REQUIRED'],
    ['no proof, if any age is enough', 'totp', MAX, null, 10, 'FACTOR_REQUIRED'],
    ['a passkey', 'passkey', 60, '{"passkey":10}', 10, null],
    ['a code instead of a passkey', 'passkey', 60, '{"otp":10}', 10, 'FACTOR_REQUIRED'],
    ['a code as any second factor', 'any-second', 60, '{"otp":10}', 10, null],
    ['a passkey as any second factor', 'any-second', 60, '{"passkey":10}', 10, null],
    ['a recovery code as any second factor', 'any-second', 60, '{"recovery":10}', 10, null],
    ['an older factor beside one in time', 'any-second', 60, '{"otp":10,"passkey":40}', 100, null],
    ['a password as any second factor', 'any-second', 60, '{"pwd":10}', 10, 'FACTOR_REQUIRED'],
  ] as const)('%s', (_name, factor, maxAgeSeconds, amr, seconds, missing) => {
    const session = { amr, lastAuthenticatedAt: at(0).toISOString() } as Session
    expect(missingProof(session, { factor, maxAgeSeconds }, at(seconds))).toBe(missing)
  })
})
