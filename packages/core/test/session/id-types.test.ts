import { expect, test } from 'vitest'
import { isIdOf } from '../../src/session/id-types.ts'

const UUID = '0189d9a1-7c3e-7b2f-9c4d-5e6f7a8b9c0d'

test.each([
  ['text', '', true],
  ['text', 'any text, ü 😀', true],
  ['text', 'a\0b', false],
  ['text', '\ud800', false],
  ['uuid', UUID, true],
  ['uuid', UUID.toUpperCase(), false],
  ['uuid', `0${UUID}`, false],
  ['uuid', `${UUID}0`, false],
  ['uuid', UUID.slice(0, -1), false],
  ['uuid', UUID.replaceAll('-', ''), false],
  ['uuid', UUID.replace('a', 'g'), false],
  ['uuid', `{${UUID}}`, false],
  ['uuid', '', false],
  ['bigint', '0', true],
  ['bigint', '1', true],
  ['bigint', '20', true],
  ['bigint', '9223372036854775807', true],
  ['bigint', '9223372036854775808', false],
  ['bigint', '10000000000000000000', false],
  ['bigint', '01', false],
  ['bigint', '-1', false],
  ['bigint', '1.5', false],
  ['bigint', '1 ', false],
  ['bigint', 'x', false],
  ['bigint', '', false],
] as const)('a column of type %s may hold %j: %s', (type, id, expected) => {
  expect(isIdOf(type, id)).toBe(expected)
})
