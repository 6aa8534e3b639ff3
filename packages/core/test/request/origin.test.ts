import {
  checkOrigin,
  defineAuthConfig,
  isAuthError,
  type OriginRequest,
  type RequestKind,
} from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { incoming } from '../support/incoming.ts'
import { createTokenGate } from '../support/token-gate.ts'

const jwks = (await createTokenGate()).keySet
const config = defineAuthConfig({
  baseUrl: 'https://app.example.com/base',
  allowedOrigins: ['https://admin.example.com'],
  jwks,
})

function isAllowed(request: OriginRequest, kind: RequestKind, settings = config): boolean {
  try {
    checkOrigin(request, kind, settings)
    return true
  } catch (error) {
    if (isAuthError(error) && error.reason === 'ORIGIN_REJECTED') return false
    throw error
  }
}

describe('the origin policy (decision 0004), every cell', () => {
  const KINDS = ['query', 'mutation', 'subscription', 'token', 'upgrade'] as const
  const ORIGINS = {
    own: 'https://app.example.com',
    listed: 'https://admin.example.com',
    foreign: 'https://evil.example',
    null: 'null',
    absent: undefined,
  }

  /** The other inputs, in every combination. */
  const METHODS = ['GET', 'POST', 'HEAD']
  const CLIENT_HEADERS = [undefined, '1', '0', 'true']
  const FETCHES = [
    {},
    { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    // A service worker forwards it.
    { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'empty' },
    { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' },
    { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'document' },
    { 'sec-fetch-mode': 'navigate' },
    { 'sec-fetch-dest': 'document' },
  ]
  const combinations = METHODS.flatMap((method) =>
    CLIENT_HEADERS.flatMap((client) =>
      FETCHES.map((fetch, index) => ({ method, client, isNavigation: index === 1 || index === 2, fetch })),
    ),
  )

  /** The calls that a letter of the grid accepts. */
  const LETTERS: Record<
    string,
    (cell: { method: string; client: string | undefined; isNavigation: boolean }) => boolean
  > = {
    '+': () => true,
    '-': () => false,
    G: ({ method }) => method === 'GET',
    N: ({ method, isNavigation }) => method === 'GET' && isNavigation,
    H: ({ client }) => client === '1',
  }

  //                                  query mutation subscription token upgrade
  const grid = [
    ['same-origin', 'own', /*     */ '+ + + + +'],
    ['same-origin', 'listed', /*  */ '+ + + + +'],
    ['same-origin', 'foreign', /* */ '+ + + + +'],
    ['same-origin', 'null', /*    */ '- - - - -'],
    ['same-origin', 'absent', /*  */ '+ + + + +'],
    ['none', 'own', /*            */ '+ + + + +'],
    ['none', 'listed', /*         */ '+ + + + +'],
    ['none', 'foreign', /*        */ 'G G G G G'],
    ['none', 'null', /*           */ '- - - - -'],
    ['none', 'absent', /*         */ 'G G G G G'],
    ['same-site', 'own', /*       */ '+ + + + +'],
    ['same-site', 'listed', /*    */ '+ + + + +'],
    ['same-site', 'foreign', /*   */ 'N - - - -'],
    ['same-site', 'null', /*      */ '- - - - -'],
    ['same-site', 'absent', /*    */ 'N - - - -'],
    ['cross-site', 'own', /*      */ '+ + + + +'],
    ['cross-site', 'listed', /*   */ '+ + + + +'],
    ['cross-site', 'foreign', /*  */ 'N - - - -'],
    ['cross-site', 'null', /*     */ '- - - - -'],
    ['cross-site', 'absent', /*   */ 'N - - - -'],
    ['absent', 'own', /*          */ '+ + + + +'],
    ['absent', 'listed', /*       */ '+ + + + +'],
    ['absent', 'foreign', /*      */ '- - - - -'],
    ['absent', 'null', /*         */ '- - - - -'],
    ['absent', 'absent', /*       */ '+ H H H -'],
    ['sideways', 'own', /*        */ '- - - - -'],
    ['sideways', 'listed', /*     */ '- - - - -'],
    ['sideways', 'foreign', /*    */ '- - - - -'],
    ['sideways', 'null', /*       */ '- - - - -'],
    ['sideways', 'absent', /*     */ '- - - - -'],
  ] as const

  const cells = grid.flatMap(([site, origin, row]) =>
    KINDS.map((kind, column) => ({ site, origin, kind, letter: row.split(' ')[column] ?? '' })),
  )

  test('the grid has every site with every origin once', () => {
    expect(new Set(grid.map(([site, origin]) => `${site} ${origin}`)).size).toBe(6 * 5)
    expect(cells).toHaveLength(6 * 5 * 5)
  })

  test.each(cells)(
    'Sec-Fetch-Site $site, Origin $origin, $kind: $letter',
    ({ site, origin, kind, letter }) => {
      for (const { method, client, isNavigation, fetch } of combinations) {
        const originHeader = ORIGINS[origin]
        const headers = {
          ...fetch,
          ...(site !== 'absent' && { 'sec-fetch-site': site }),
          ...(originHeader !== undefined && { origin: originHeader }),
          ...(client !== undefined && { 'x-sallyport': client }),
        }
        const expected = LETTERS[letter]?.({ method, client, isNavigation })
        expect(isAllowed(incoming(headers, method), kind), JSON.stringify({ method, ...headers })).toBe(
          expected,
        )
      }
    },
  )
})

test('a worker could forward the navigation of a frame, which sends only cookies with SameSite=None', () => {
  const none = defineAuthConfig({
    baseUrl: config.issuer,
    allowedOrigins: ['https://admin.example.com'],
    jwks,
    cookieSameSite: 'none',
  })
  const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  const isPage = (destination: string) =>
    isAllowed(incoming({ ...headers, 'sec-fetch-dest': destination }, 'GET'), 'query', none)
  expect([isPage('document'), isPage('empty')]).toEqual([true, false])
})

describe('an origin is listed only byte for byte', () => {
  test.each([
    'https://APP.example.com',
    'https://app.example.com/',
    'https://app.example.com:443',
    'https://app.example.com.',
    'https://app.example.com:8443',
    'http://app.example.com',
    'https://app.example.com.evil.example',
    'https://evilapp.example.com',
    'https://example.com',
    'https://app.example.com, https://evil.example',
    ' https://app.example.com',
    'app.example.com',
    'https://app.example.com@evil.example',
    '*',
    'NULL',
    'undefined',
    '',
  ])('rejects %j', (origin) => {
    for (const kind of ['query', 'mutation', 'subscription', 'token', 'upgrade'] as const) {
      expect(isAllowed(incoming({ origin, 'x-sallyport': '1' }, 'POST'), kind)).toBe(false)
      expect(isAllowed(incoming({ origin, 'sec-fetch-site': 'cross-site' }, 'POST'), kind)).toBe(false)
    }
  })
})

test.each(['', 'Same-Origin', 'same-origin, cross-site', 'SAME-ORIGIN'])(
  'rejects a Sec-Fetch-Site that no browser sends: %j',
  (site) => {
    const request = incoming({ 'sec-fetch-site': site, origin: config.issuer, 'x-sallyport': '1' })
    expect(isAllowed(request, 'query')).toBe(false)
  },
)

describe('a page that sends x-sallyport to test whether it may open WebSockets', () => {
  const asPage = (page: string, headers: Record<string, string> = {}) =>
    incoming({ 'x-sallyport': page, 'sec-fetch-site': 'same-origin', ...headers })

  test.each(['query', 'mutation', 'token'] as const)('is rejected by its origin alone, for a %s', (kind) => {
    expect(isAllowed(asPage('https://www.example.com'), kind)).toBe(false)
    expect(isAllowed(asPage('https://app.example.com'), kind)).toBe(true)
    expect(isAllowed(asPage('https://admin.example.com'), kind)).toBe(true)
  })

  test('gains nothing by naming an allowed origin', () => {
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    for (const kind of ['query', 'mutation', 'token', 'upgrade'] as const)
      expect(isAllowed(asPage('https://app.example.com', foreign), kind)).toBe(false)
  })
})
