import { createTestAuth } from '@sallyport/core/testing'
import { Headers as OtherHeaders } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { headerReader, isOwnOrigin } from '../../src/server/request-headers.ts'
import { FOREIGN, ORIGIN } from '../support/visitor.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

test.each([
  ['of Node', { cookie: 'a=1', origin: ['https://one.example', 'https://two.example'], host: undefined }],
  [
    'of the Fetch API',
    new Headers([
      ['cookie', 'a=1'],
      ['origin', 'https://one.example'],
      ['origin', 'https://two.example'],
    ]),
  ],
  [
    'of another implementation of the Fetch API',
    new OtherHeaders([
      ['cookie', 'a=1'],
      ['origin', 'https://one.example'],
      ['origin', 'https://two.example'],
    ]) as unknown as Headers,
  ],
])('reads headers %s, and joins repeated ones', (_name, headers) => {
  const header = headerReader(headers)
  expect(['cookie', 'origin', 'host', 'referer'].map(header)).toEqual([
    'a=1',
    'https://one.example, https://two.example',
    null,
    null,
  ])
})

test.each([
  ['a page of the app', { origin: ORIGIN }, true],
  ['a page of the app, in a browser with fetch metadata', { 'sec-fetch-site': 'same-origin' }, true],
  ['an address that a user typed', { 'sec-fetch-site': 'none' }, true],
  ['another site', FOREIGN, false],
  ['a program', {}, false],
  ['a program that calls itself our client', { 'x-sallyport': '1' }, false],
])('whether an upgrade may use the cookies: %s', (_name, headers, expected) => {
  expect(isOwnOrigin(headerReader(headers), auth.config)).toBe(expected)
})
