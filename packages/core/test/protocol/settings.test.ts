import { ConfigurationError } from '@sallyport/core'
import { expect, test } from 'vitest'
import { requirePositive } from '../../src/protocol/settings.ts'

test.each([1, 2, 1_000_000, Number.MAX_SAFE_INTEGER])('%d is a positive whole number', (value) => {
  expect(requirePositive('points', value)).toBe(value)
})

test.each([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
  '%d is not a positive whole number',
  (value) => {
    expect(() => requirePositive('points', value)).toThrow(ConfigurationError)
    expect(() => requirePositive('points', value)).toThrow(/^points must be a positive whole number$/)
  },
)

test('the error names the maximum', () => {
  expect(requirePositive('points', 10, 10)).toBe(10)
  expect(() => requirePositive('points', 11, 10)).toThrow(/^points must be a positive whole number up to 10$/)
})
