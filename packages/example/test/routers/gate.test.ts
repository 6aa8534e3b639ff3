import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { inspectCookies } from '../../src/gate/inspect-cookies.ts'
import { BASE_URL, type OpenApp, openApp } from '../open-app.ts'

let app: OpenApp
beforeAll(async () => {
  app = await openApp()
})
afterAll(() => app.close())

async function inspect(cookie: string) {
  const answer = await app.send(new Request(`${BASE_URL}/trpc/gate.inspect`, { headers: { cookie } }))
  expect(answer.headers.getSetCookie()).toEqual([])
  const { result } = await answer.json()
  return result.data
}

/** Returns a `Cookie` header without one of its cookies. */
const without = (name: string, header: string) =>
  header
    .split('; ')
    .filter((pair) => !pair.startsWith(`${name}=`))
    .join('; ')

test('returns the claims of the JWT and the row of its session', async () => {
  const { jar, userId } = await app.signIn('grace')
  expect(await inspect(jar.header())).toMatchObject({
    jwt: { reason: null, identity: { userId, expiresIn: expect.toSatisfy((left) => left > 890) } },
    session: { reason: null },
    row: { email: 'grace@example.com', banned: false },
    next: { status: 200, reason: null },
    rejectedRefresh: null,
  })
})

test('returns to an anonymous caller that both checks fail', async () => {
  expect(await inspect('')).toMatchObject({
    jwt: { reason: 'TOKEN_MISSING', identity: null },
    session: null,
    row: null,
    next: { status: 401, reason: 'TOKEN_MISSING' },
    rejectedRefresh: 'SESSION_NOT_FOUND',
    refreshHelps: false,
  })
})

test('without a JWT, a refresh would help; the inspection does not refresh', async () => {
  const { jar } = await app.signIn('grace')
  const cookie = without('service.jwt', jar.header())
  for (const _time of [1, 2])
    expect(await inspect(cookie)).toMatchObject({
      jwt: { reason: 'TOKEN_MISSING' },
      row: { email: 'grace@example.com' },
      next: { status: 401 },
      refreshHelps: true,
    })
})

test('a session id without its secret reveals nothing', async () => {
  const { jar, userId } = await app.signIn('grace')
  const { id } = await app.db
    .selectFrom('session')
    .select('id')
    .where('userId', '=', userId)
    .executeTakeFirstOrThrow()
  expect(jar.header()).toContain('service.session=')
  expect(await inspect(`service.session=${id}.made-up`)).toMatchObject({
    row: null,
    rejectedRefresh: 'SESSION_NOT_FOUND',
    refreshHelps: false,
  })
})

test.each([
  ['service.jwt=a; service.jwt=b', 'COOKIE_CONFLICT'],
  ['service.jwt=a.b.c', 'TOKEN_INVALID'],
])('%s: %s', async (cookie, reason) => {
  expect(await inspect(cookie)).toMatchObject({
    jwt: { reason },
    session: null,
    next: { status: 401, reason },
  })
})

test('an inspection emits no event', async () => {
  const { authConfig } = await import('../../src/auth.config.ts')
  const onEvent = vi.fn()
  const seen = await inspectCookies('service.jwt=a.b.c', { config: { ...authConfig, onEvent }, db: app.db })
  expect(seen.jwt.reason).toBe('TOKEN_INVALID')
  expect(onEvent).not.toHaveBeenCalled()
})
