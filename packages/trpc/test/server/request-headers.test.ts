import { expect, test } from 'vitest'
import { headerReader } from '../../src/server/request-headers.ts'

test.each([
  ['headers of the fetch API', new Headers({ Origin: 'https://app.example.com' })],
  ['headers of Node', { origin: 'https://app.example.com' }],
])('%s are read by their lower-case name', (_name, headers) => {
  const header = headerReader(headers)
  expect(header('origin')).toBe('https://app.example.com')
  expect(header('cookie')).toBeNull()
})

test('a header that was sent twice equals none of its values', () => {
  const header = headerReader({ origin: ['https://app.example.com', 'https://evil.example'] })
  expect(header('origin')).toBe('https://app.example.com, https://evil.example')
})
