import { expect, test } from 'vitest'
import {
  addMethods,
  missingProof,
  readMethods,
  removeMethods,
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

test.each(['', 'pwd otp', '[]', 'null', '1', '"otp"', '{"otp":"1"}', '{"otp":1.5}', '{"otp":null}'])(
  'the unreadable text %o proves nothing',
  (amr) => {
    expect(readMethods(amr)).toEqual({})
  },
)

test('an impersonated session has no factor, even if its user has proved it', () => {
  const session: Partial<Session> & { impersonatedBy: string } = { amr: '{"otp":10}', impersonatedBy: 'root' }
  const rule = { factor: 'totp', maxAgeSeconds: Number.POSITIVE_INFINITY } as const
  expect(missingProof({ ...session, impersonatedBy: null } as Session & object, rule, at(10))).toBeNull()
  expect(missingProof(session as Session, rule, at(10))).toBe('SESSION_NOT_FRESH')
})
