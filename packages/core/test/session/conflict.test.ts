import { expect, test } from 'vitest'
import { asConflict, isConflict } from '../../src/session/conflict.ts'

const coded = (code: unknown, cause?: unknown) => Object.assign(new Error('failed', { cause }), { code })

test.each([
  ['a deadlock', coded('40P01'), true],
  ['a serialization failure', coded('40001'), true],
  ["Prisma's code for both", coded('P2034'), true],
  ['the cause of another error', new Error('failed', { cause: coded('40P01') }), true],
  ['the cause of an error with another code', coded('P2010', coded('40001')), true],
  ['an error that we made', asConflict(new Error('first')), true],
  ['another code', coded('23505'), false],
  ['no code', new Error('40P01'), false],
  ['a code that is no text', coded(40001), false],
  ['an object that is no error', { code: '40P01' }, false],
  ['nothing', undefined, false],
])('whether a transaction can be repeated: %s', (_name, error, expected) => {
  expect(isConflict(error)).toBe(expected)
})

test('an error that we made keeps its cause', () => {
  const cause = new Error('first')
  expect(asConflict(cause)).toMatchObject({ cause, code: '40001' })
})
