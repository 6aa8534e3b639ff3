import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { createServerAuth, type ServerAuth } from '@sallyport/trpc/ssr'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageRequest } from './scene.ts'

let auth: TestAuth
let ada: TestSession
let grace: TestSession
beforeAll(async () => {
  auth = await createTestAuth()
  ada = await auth.signIn()
  grace = await auth.signIn()
})
afterAll(() => auth.close())

const jwtCookie = (token: string) => `service.jwt=${token}; Path=/; HttpOnly; SameSite=Lax`

/** What ada's page is when the token endpoint answers like this. */
async function pageAfter(answer: () => Response): Promise<{ page: ServerAuth; errors: string[] }> {
  const errors: string[] = []
  const serverAuth = createServerAuth({
    config: auth.config,
    token: async () => answer(),
    onError: (error) => errors.push(String(error)),
  })
  const page = await serverAuth(pageRequest(`service.session=${ada.sessionCookie}`))
  return { page, errors }
}

const answerWith =
  (body: BodyInit | null, status: number, setCookies: string[] = []) =>
  () =>
    new Response(body, {
      status,
      headers: setCookies.map((setCookie): [string, string] => ['set-cookie', setCookie]),
    })
const rejectWith = (code: string, status: number, setCookies?: string[]) =>
  answerWith(JSON.stringify({ code, message: '' }), status, setCookies)

describe('an answer that is not plainly one of ours decides nothing, and sets no cookie', () => {
  test.each([
    ['200 without a JWT', answerWith('{}', 200), 'responded with 200 without a JWT'],
    ['200 with a page', answerWith('<html>', 200), 'responded with 200 without a JWT'],
    ['401 of a gateway', answerWith('Unauthorized', 401), 'responded with 401'],
    ['401 with JSON of a gateway', answerWith('null', 401), 'responded with 401'],
    ['401 with a code of a gateway', rejectWith('UNAUTHORIZED', 401), 'responded with 401'],
    ['401 with no code', answerWith('{"code":401}', 401), 'responded with 401'],
    ['a reason with the status of another', rejectWith('SESSION_NOT_FOUND', 403), 'responded with 403'],
    ['a reason with success', rejectWith('SESSION_NOT_FOUND', 200), 'responded with 200 without a JWT'],
    ['500', rejectWith('INTERNAL_ERROR', 500), 'responded with 500'],
    ['404', rejectWith('NOT_FOUND', 404), 'responded with 404'],
    ['502 of a proxy', answerWith('<h1>Bad Gateway</h1>', 502), 'responded with 502'],
    ['a redirect', answerWith(null, 302), 'responded with 302'],
  ])('%s', async (_what, answer, error) => {
    const { page, errors } = await pageAfter(answer)
    expect([page.state, page.reason, page.setCookies]).toEqual([
      { status: 'unknown' },
      'SESSIONS_UNAVAILABLE',
      [],
    ])
    expect(errors).toEqual([`Error: The token endpoint ${error}`])
  })

  test.each([
    ['ACCOUNT_BANNED', 403],
    ['ORIGIN_REJECTED', 403],
    ['COOKIE_CONFLICT', 401],
    ['TOKEN_INVALID', 401],
    ['RATE_LIMITED', 429],
    ['SESSIONS_UNAVAILABLE', 503],
    ['KEYS_UNAVAILABLE', 503],
  ])('nor does the rejection %s, which is known', async (reason, status) => {
    const { page, errors } = await pageAfter(
      rejectWith(reason, status, [jwtCookie(''), jwtCookie(ada.token)]),
    )
    // The script shows a ban before it has asked.
    const state = reason === 'ACCOUNT_BANNED' ? { status: 'unknown', reason } : { status: 'unknown' }
    expect([page.state, page.reason, page.setCookies]).toEqual([state, reason, []])
    expect(errors).toEqual([])
  })
})

describe('a JWT that is rejected here is neither used nor handed on', () => {
  test('such as one that a cache kept from another user', async () => {
    const { page, errors } = await pageAfter(
      answerWith('{}', 200, [jwtCookie(grace.token), `service.session=${grace.sessionCookie}; Path=/`]),
    )
    expect([page.state, page.reason, page.setCookies]).toEqual([{ status: 'unknown' }, 'TOKEN_INVALID', []])
    expect(page.headers.get('cookie')).toBe(`service.session=${ada.sessionCookie}`)
    expect(errors).toEqual(['Error: The JWT from the token endpoint was rejected: TOKEN_INVALID'])
  })

  test('even where the cache has kept the cookies of both', async () => {
    const setCookies = [jwtCookie(grace.token), `service.session=${ada.sessionCookie}`]
    const { page } = await pageAfter(answerWith('{}', 200, setCookies))
    expect([page.reason, page.setCookies]).toEqual(['TOKEN_INVALID', []])
  })

  test.each([
    ['one that has expired', async () => (await auth.expireJwt(ada)).token, 'TOKEN_EXPIRED'],
    ['none', async () => '', 'TOKEN_MISSING'],
    ['garbage', async () => 'garbage', 'TOKEN_INVALID'],
  ])('%s', async (_what, tokenOf, reason) => {
    const token = await tokenOf()
    const { page } = await pageAfter(answerWith('{}', 200, [jwtCookie(token)]))
    expect([page.state, page.reason, page.setCookies]).toEqual([{ status: 'unknown' }, reason, []])
  })
})

test('cookies of a proxy on the way are not handed on', async () => {
  const ours = jwtCookie(ada.token)
  const { page } = await pageAfter(answerWith('{}', 200, ['sticky=node-7; Path=/', ours, 'service.jwtx=1']))
  expect([page.state.status, page.setCookies]).toEqual(['authenticated', [ours]])
})

test.each(['SESSION_NOT_FOUND', 'SESSION_EXPIRED'])('401 %s is definite', async (reason) => {
  const deletion = 'service.jwt=; Max-Age=0; Path=/'
  const { page, errors } = await pageAfter(rejectWith(reason, 401, [deletion, 'sticky=1']))
  expect([page.state, page.reason, page.setCookies]).toEqual([
    { status: 'unauthenticated' },
    reason,
    [deletion],
  ])
  expect(page.headers.get('cookie')).toBeNull()
  expect(errors).toEqual([])
})
