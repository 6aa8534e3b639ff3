import { expect, test } from 'vitest'
import { isCommonPassword } from '../../../src/plugins/email-password/common-passwords.ts'

const isCommon = (password: string, email = 'lovelace1815@math.example') => isCommonPassword(password, email)

test.each([
  'password',
  'Password',
  'PASSWORD',
  '12345678',
  'password123',
  'Password123',
  'qwertyuiop',
  'iloveyou',
  'letmein',
  '1q2w3e4r',
  'football',
])('%s is among those that are tried first', async (password) => {
  expect(await isCommon(password)).toBe(true)
})

test.each([
  'correct horse battery staple',
  'password correct horse',
  ' password ',
  'tr0ub4dor&3 and more',
  'пароль от всего',
  '密码密码密码密码',
  '👩‍🚀👩‍🚀👩‍🚀👩‍🚀',
  'constructor',
  '__proto__',
  'x'.repeat(256),
  '',
])('%j is not', async (password) => {
  expect(await isCommon(password)).toBe(false)
})

test.each(['lovelace1815@math.example', 'Lovelace1815@Math.Example', 'lovelace1815', 'LOVELACE1815'])(
  '%s is the email address it is for, or its name',
  async (password) => {
    expect(await isCommon(password)).toBe(true)
    expect(await isCommon(password, 'someone@else.example')).toBe(false)
  },
)

test('what only contains the name is another', async () => {
  expect(await isCommon('lovelace1815 and more')).toBe(false)
  expect(await isCommon('math.example')).toBe(false)
})
