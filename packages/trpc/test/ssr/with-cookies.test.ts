import { defineAuthConfig, readCookie } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { createFrontDoor } from '../../../core/test/support/front-door.ts'
import { parseSetCookie, withCookies, withoutCookies } from '../../src/ssr/with-cookies.ts'

const config = defineAuthConfig({
  baseUrl: 'http://localhost:3000',
  jwks: (await createFrontDoor()).keySet,
})
const headers = (cookie: string | null) => new Headers(cookie === null ? {} : { cookie })

test.each([
  ['a=1; Path=/', { name: 'a', value: '1' }],
  ['a=1', { name: 'a', value: '1' }],
  [' a = b=c ; HttpOnly', { name: 'a', value: 'b=c' }],
  ['a=; Max-Age=0', { name: 'a', value: '' }],
])('%j is read', (setCookie, pair) => {
  expect(parseSetCookie(setCookie)).toEqual(pair)
})

describe('the cookies of a browser', () => {
  test.each([
    [null, ['a=1; Path=/'], 'a=1'],
    ['a=0', ['a=1'], 'a=1'],
    ['a=0; b=2', ['a=1'], 'b=2; a=1'],
    ['b=2;a=0;a=00', ['a=1'], 'b=2; a=1'],
    ['b=2; a=0', ['a=; Max-Age=0'], 'b=2'],
    ['a=0', ['a=; Max-Age=0'], null],
    ['aa=0; a', ['a=1'], 'aa=0; a=1'],
    ['a =0', ['a=1'], 'a =0; a=1'],
    ['\xa0a=0', ['a=1'], '\xa0a=0; a=1'],
    ['b=2', ['a=1', 'c=3; Secure'], 'b=2; a=1; c=3'],
    ['b=2', [], 'b=2'],
  ])('%j, given %j, are %j', (before, setCookies, after) => {
    expect(withCookies(headers(before), setCookies).get('cookie')).toBe(after)
  })

  test('of ours each is there once, so readers get the one that was set', () => {
    const jar = 'service.jwt=1; x=2;service.jwt=3 ;\tservice.jwt=4'
    const cookie = withCookies(headers(jar), ['service.jwt=5; Path=/']).get('cookie')
    expect(readCookie(cookie, 'service.jwt')).toBe('5')
  })

  test('are those of others alone when no user is signed in', () => {
    const jar = 'service.jwt=1; x=2; service.session=3; service.device=4'
    expect(withoutCookies(headers(jar), config).get('cookie')).toBe('x=2; service.device=4')
  })

  test('are changed in a copy, which has the other headers, too', () => {
    const before = new Headers({ cookie: 'a=0', 'x-other': '1' })
    const after = withCookies(before, ['a=1'])
    expect([before.get('cookie'), after.get('x-other')]).toEqual(['a=0', '1'])
  })
})
