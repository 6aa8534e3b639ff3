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
