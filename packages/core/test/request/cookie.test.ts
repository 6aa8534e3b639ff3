import { readCookie } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { type CookieAttributes, clearCookies, cookieNames, setCookie } from '../../src/request/cookie.ts'
import { reasonOf } from '../support/reason-of.ts'

test.each([
  [
    'service',
    { secure: false },
    { jwt: 'service.jwt', session: 'service.session', device: 'service.device' },
  ],
  [
    'service',
    { secure: true },
    { jwt: 'service.jwt', session: '__Host-service.session', device: '__Host-service.device' },
  ],
  [
    'app-1',
    { secure: true },
    { jwt: 'app-1.jwt', session: '__Host-app-1.session', device: '__Host-app-1.device' },
  ],
  [
    'service',
    { secure: true, domain: 'example.com' },
    { jwt: 'service.jwt', session: '__Secure-service.session', device: '__Secure-service.device' },
  ],
])('names the cookies for the prefix %s and %j', (prefix, attributes, names) => {
  expect(cookieNames(prefix, attributes)).toEqual(names)
})

describe('the value of service.jwt', () => {
  test.each([
    ['no header', null, null],
    ['an empty header', '', null],
    ['the cookie alone', 'service.jwt=a', 'a'],
    ['the cookie among others', 'x=1; service.jwt=a; y=2', 'a'],
    ['no space between', 'x=1;service.jwt=a;y=2', 'a'],
    ['extra space between', 'x=1;  \t service.jwt=a  ;', 'a'],
    ['space around the value', 'service.jwt=  a\t ', 'a'],
    ['an equals sign in the value', 'service.jwt=a=b==', 'a=b=='],
    ['a value in quotes, which are part of it', 'service.jwt="a"', '"a"'],
    ['an encoded value, which stays encoded', 'service.jwt=%61', '%61'],
    ['an empty value', 'service.jwt=', null],
    ['a value of white space', 'service.jwt=  ; x=1', null],
    ['no equals sign', 'service.jwt; x=1', null],
    ['a longer name', 'service.jwtx=a', null],
    ['a longer name with a dot', 'service.jwt.old=a', null],
    ['a name with the same ending', 'xservice.jwt=a', null],
    ['a name with __Host-', '__Host-service.jwt=a', null],
    ['another case', 'Service.JWT=a', null],
    ['another character for the dot', 'service_jwt=a', null],
    ['space before the equals sign', 'service.jwt =a', null],
    ['another name as long, and ours as a value', 'session.abc=a; x=service.jwt', null],
    ['the name as the value of another', 'x=service.jwt=a', null],
    ['the name within the value of another', 'x=1 service.jwt=a', null],
    ['similar names before and after', 'service.jwtx=1; xservice.jwt=2; service.jwt=a; service.jwt2=3', 'a'],
    ['many semicolons', ';;;; ;; service.jwt=a;;;', 'a'],
  ])('%s', (_name, header, value) => {
    expect(readCookie(header, 'service.jwt')).toBe(value)
  })
})

describe('two cookies with one name are a conflict, whatever their values', () => {
  test.each([
    ['different values', 'service.jwt=a; service.jwt=b'],
    ['the same value', 'service.jwt=a; service.jwt=a'],
    ['an empty one first', 'service.jwt=; service.jwt=a'],
    ['an empty one last', 'service.jwt=a; service.jwt='],
    ['both empty', 'service.jwt=; service.jwt='],
    ['others between', 'service.jwt=a; x=1; y=2;service.jwt=b'],
    ['three', 'service.jwt=a; service.jwt=b; service.jwt=c'],
  ])('%s', async (_name, header) => {
    expect(await reasonOf((async () => readCookie(header, 'service.jwt'))())).toBe('COOKIE_CONFLICT')
  })

  test('ignores two cookies with another name', () => {
    expect(readCookie('x=1; x=2; service.jwt=a', 'service.jwt')).toBe('a')
  })
})

describe('sets a cookie', () => {
  test.each([
    ['without Secure over http', false, 'service.jwt=a.b-c_d; Max-Age=900; Path=/; HttpOnly; SameSite=Lax'],
    [
      'with Secure over https',
      true,
      'service.jwt=a.b-c_d; Max-Age=900; Path=/; HttpOnly; Secure; SameSite=Lax',
    ],
  ])('%s, with these attributes and no Domain', (_name, secure, header) => {
    expect(setCookie('service.jwt', 'a.b-c_d', { maxAgeSeconds: 900, secure })).toBe(header)
  })

  test.each([
    [{ domain: 'example.com' }, 'a=b; Max-Age=9; Domain=example.com; Path=/; HttpOnly; Secure; SameSite=Lax'],
    [{ sameSite: 'none' }, 'a=b; Max-Age=9; Path=/; HttpOnly; Secure; Partitioned; SameSite=None'],
  ] as const)('with %j', (attributes, header) => {
    expect(setCookie('a', 'b', { maxAgeSeconds: 9, secure: true, ...attributes })).toBe(header)
  })

  test('without Max-Age if it expires with the browser session', () => {
    expect(setCookie('service.session', 'a', { maxAgeSeconds: null, secure: true })).toBe(
      'service.session=a; Path=/; HttpOnly; Secure; SameSite=Lax',
    )
  })

  test("and a value can't add an attribute", () => {
    const header = setCookie('service.jwt', 'a; Domain=evil.example', { maxAgeSeconds: 1, secure: false })
    expect(header.split(';').map((part) => part.trim())).not.toContain('Domain=evil.example')
  })
})

test('clearing deletes the JWT and the session cookie with the attributes they were set with', () => {
  const clear = (attributes: CookieAttributes) =>
    clearCookies({ ...cookieNames('service', attributes), ...attributes })
  expect(clear({ secure: true })).toEqual([
    'service.jwt=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
    '__Host-service.session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
  ])
  expect(clear({ secure: true, domain: 'example.com', sameSite: 'none' })).toEqual([
    'service.jwt=; Max-Age=0; Domain=example.com; Path=/; HttpOnly; Secure; Partitioned; SameSite=None',
    '__Secure-service.session=; Max-Age=0; Domain=example.com; Path=/; HttpOnly; Secure; Partitioned; SameSite=None',
  ])
  expect(clear({ secure: false })).toEqual([
    'service.jwt=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    'service.session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
  ])
})
