import { describe, expect, test } from 'vitest'
import { readInput } from '../../src/endpoints/read-input.ts'

const read = (query: string) => readInput(new Request(`http://localhost:3000/api/auth/session${query}`))

test.each([
  ['', {}],
  ['?', {}],
  ['?search=', { search: '' }],
  ['?search=ada&limit=10', { search: 'ada', limit: '10' }],
  ['?search=a%20b%26c', { search: 'a b&c' }],
  ['?search=a+b', { search: 'a b' }],
  ['?search', { search: '' }],
  ['?search=%E2%82%AC', { search: '€' }],
  ['?search[]=a', { 'search[]': 'a' }],
])('%j is parsed into strings by name', async (query, texts) => {
  expect(await read(query)).toEqual(texts)
})

describe('a repeated name is rejected, because choosing one of its values would be a guess', () => {
  test.each([
    ['?userId=a&userId=b', ['userId']],
    ['?userId=a&userId=a', ['userId']],
    ['?userId=a&limit=1&user%49d=b', ['userId']],
    ['?a=1&b=1&a=2&b=2', ['a', 'b']],
  ])('%s', async (query, fields) => {
    await expect(read(query)).rejects.toThrow(expect.objectContaining({ code: 'INVALID_INPUT', fields }))
  })
})

test('a member named __proto__ is a member, and changes no object', async () => {
  const texts = Object(await read('?__proto__=x&constructor=y'))
  expect(Object.entries(texts)).toEqual([
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ])
  expect(Object.getPrototypeOf(texts)).toBe(Object.prototype)
})
