import { createTestAuth } from '@sallyport/core/testing'
import { createServerAuth, type ServerAuth } from '@sallyport/trpc/ssr'
import { afterAll, describe, expect, test } from 'vitest'
import { pageRequest } from './scene.ts'

const auth = await createTestAuth()
const ada = await auth.signIn()
const grace = await auth.signIn()
afterAll(() => auth.close())

const jwtCookie = (token: string) => `service.jwt=${token}; Path=/; HttpOnly; SameSite=Lax`

/** Returns Ada's page after this response of the token endpoint. */
async function pageAfter(answer: () => Response): Promise<{ page: ServerAuth; errors: string[] }> {
  const errors: string[] = []
  const serverAuth = createServerAuth({
    config: { ...auth.config, onFailure: ({ cause }) => void errors.push(String(cause)) },
    token: async () => answer(),
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

describe("a response that isn't clearly from the token endpoint decides nothing, and sets no cookie", () => {
  test.each([
    ['200 without a JWT', answerWith('{}', 200), 'responded with 200 without a JWT'],
    ['200 with an HTML page', answerWith('<html>', 200), 'responded with 200 without a JWT'],
    ["a gateway's 401", answerWith('Unauthorized', 401), 'responded with 401'],
    ["a gateway's 401 with JSON", answerWith('null', 401), 'responded with 401'],
    ["a gateway's 401 with a code", rejectWith('UNAUTHORIZED', 401), 'responded with 401'],
    ['401 with no code', answerWith('{"code":401}', 401), 'responded with 401'],
    ["a reason with another's status", rejectWith('SESSION_NOT_FOUND', 403), 'responded with 403'],
    ['a reason with success', rejectWith('SESSION_NOT_FOUND', 200), 'responded with 200 without a JWT'],
    ['500', rejectWith('INTERNAL_ERROR', 500), 'responded with 500'],
    ['404', rejectWith('NOT_FOUND', 404), 'responded with 404'],
    ["a proxy's 502", answerWith('<h1>Bad Gateway</h1>', 502), 'responded with 502'],
    ['a redirect', answerWith(null, 302), 'responded with 302'],
  ])('%s', async (_what, answer, error) => {
    const { page, errors } = await pageAfter(answer)
    expect([page.state, page.reason, page.setCookies]).toEqual([
      { status: 'unknown' },
      'SESSIONS_UNAVAILABLE',
      [],
    ])
    expect(errors).toEqual([`Error: The token endpoint ${error}. Check the option token of createServerAuth`])
  })

  test.each([
    ['ACCOUNT_BANNED', 403],
    ['ORIGIN_REJECTED', 403],
    ['COOKIE_CONFLICT', 401],
    ['TOKEN_INVALID', 401],
    ['RATE_LIMITED', 429],
    ['SESSIONS_UNAVAILABLE', 503],
    ['KEYS_UNAVAILABLE', 503],
  ])('the known rejection %s decides nothing, and sets no cookie', async (reason, status) => {
    const { page, errors } = await pageAfter(
      rejectWith(reason, status, [jwtCookie(''), jwtCookie(ada.token)]),
    )
    // The script shows a ban before its first request.
    const state = reason === 'ACCOUNT_BANNED' ? { status: 'unknown', reason } : { status: 'unknown' }
    expect([page.state, page.reason, page.setCookies]).toEqual([state, reason, []])
    expect(errors).toEqual([])
  })
})

describe('a JWT that this server rejects is neither used nor passed on', () => {
  test('if it comes from a cache and is for another user', async () => {
    const { page, errors } = await pageAfter(
      answerWith('{}', 200, [jwtCookie(grace.token), `service.session=${grace.sessionCookie}; Path=/`]),
    )
    expect([page.state, page.reason, page.setCookies]).toEqual([{ status: 'unknown' }, 'TOKEN_INVALID', []])
    expect(page.headers.get('cookie')).toBe(`service.session=${ada.sessionCookie}`)
    expect(errors).toEqual([
      'ConfigurationError: The JWT of the token endpoint was rejected: TOKEN_INVALID. Check config and token',
    ])
  })

  test('even if the cache kept both cookies', async () => {
    const setCookies = [jwtCookie(grace.token), `service.session=${ada.sessionCookie}`]
    const { page } = await pageAfter(answerWith('{}', 200, setCookies))
    expect([page.reason, page.setCookies]).toEqual(['TOKEN_INVALID', []])
  })

  test.each([
    ['an expired one', async () => (await auth.expireJwt(ada)).token, 'TOKEN_EXPIRED'],
    ['none', async () => '', 'TOKEN_MISSING'],
    ['garbage', async () => 'garbage', 'TOKEN_INVALID'],
  ])('%s', async (_what, tokenOf, reason) => {
    const token = await tokenOf()
    const { page } = await pageAfter(answerWith('{}', 200, [jwtCookie(token)]))
    expect([page.state, page.reason, page.setCookies]).toEqual([{ status: 'unknown' }, reason, []])
  })
})

test('cookies of a proxy in between are not passed on', async () => {
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
