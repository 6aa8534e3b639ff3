import { expect, test } from 'vitest'
import { countStrings, isBase64url, isJsonObject, parseJsonObject } from '../../src/jwt/encoding.ts'

test.each([
  ['', true],
  ['AAAA', true],
  ['-_09az', false],
  ['-_09azAA', true],
  // One byte: four unused bits.
  ['AA', true],
  ['Ag', true],
  ['AB', false],
  ['Ah', false],
  // Two bytes: two unused bits.
  ['AAA', true],
  ['AAE', true],
  ['AAB', false],
  ['AAC', false],
  ['A', false],
  ['AAAAA', false],
  ['AA==', false],
  ['AA+A', false],
  ['AA/A', false],
  ['AAA\n', false],
  ['\nAAA', false],
])('whether %j is canonical base64url: %s', (text, expected) => {
  expect(isBase64url(text)).toBe(expected)
})

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ['text', false],
  [1, false],
  [undefined, false],
])('whether %j is an object: %s', (value, expected) => {
  expect(isJsonObject(value)).toBe(expected)
  const parse = () => parseJsonObject(Buffer.from(JSON.stringify(value) ?? ''))
  if (expected) expect(parse()).toEqual(value)
  else expect(parse).toThrow()
})

test.each([
  ['{}', 0],
  ['{"a":1}', 1],
  ['{"a":"b","c":["d"]}', 4],
  [String.raw`{"a\"b":"\\"}`, 2],
])('%s has %i strings', (json, count) => {
  expect(countStrings(Buffer.from(json))).toBe(count)
})
