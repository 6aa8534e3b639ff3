import { expect, test } from 'vitest'
import { decodeColumn } from '../../src/session/added-columns.ts'

test.each([
  [true, true],
  [1, true],
  [1n, true],
  ['1', true],
  ['true', true],
  [false, false],
  [0, false],
  [0n, false],
  ['0', false],
  ['false', false],
  [null, null],
  ['', null],
  ['no', null],
  ['constructor', null],
  [2, null],
])('a flag that a driver reads as %o is %s', (value, flag) => {
  expect(decodeColumn(value, 'flag')).toBe(flag)
})

test.each([
  ['date', '2026-01-02T03:04:05.000Z', new Date('2026-01-02T03:04:05.000Z')],
  ['date', -100_000, new Date(-100_000)],
  ['date', 'soon', null],
  ['json', '{"a":[1]}', { a: [1] }],
  ['json', '"text"', 'text'],
  ['json', '"[\\"a\\"]"', ['a']],
  ['json', '{', null],
] as const)('a column of type %s that a driver reads as %o is %o', (type, value, decoded) => {
  expect(decodeColumn(value, type)).toEqual(decoded)
})
