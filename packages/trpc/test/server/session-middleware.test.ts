import { REASONS, type Reason } from '@sallyport/core'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { callEndpoint, withCookiesOf } from '../support/call-endpoint.ts'
import { ask, CALL_PATHS, connectWebSocket, statusOn } from '../support/connect.ts'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'
import { browser, type Visitor } from '../support/visitor.ts'

const server = await startServer()
afterEach(() => server.clear())
afterAll(async () => {
  await soon(() => expect(server.feed.listeners).toBe(0))
  await server.close()
})

const signIn = async (): Promise<{ userId: string; visitor: Visitor }> => {
  const session = await server.auth.signIn()
  return { userId: session.userId, visitor: browser(session) }
}

describe('scenario matrix', () => {
  const scenarios: {
    scenario: string
    given: () => Promise<Visitor>
    reason: Reason | null
    lookups: number
  }[] = [
    {
      scenario: 'Normal',
      given: async () => (await signIn()).visitor,
      reason: null,
      lookups: 1,
    },
    {
      scenario: 'User signs out',
      async given() {
        const { visitor } = await signIn()
        const signedOut = await callEndpoint(server, visitor, { method: 'POST', path: '/sign-out' })
        return withCookiesOf(signedOut, visitor)
      },
      reason: 'TOKEN_MISSING',
      lookups: 0,
    },
    {
      scenario: 'Admin revokes session',
      async given() {
        const session = await server.auth.signIn()
        const admin = await server.auth.signIn({ role: 'admin' })
        const revoked = await callEndpoint(server, browser(admin), {
          method: 'POST',
          path: '/admin/revoke-user-session',
          body: { sessionId: session.sessionId },
        })
        expect(revoked.status).toBe(200)
        return browser(session)
      },
      reason: 'SESSION_NOT_FOUND',
      lookups: 1,
    },
    {
      scenario: 'JWT expired, session valid',
      given: async () => browser(await server.auth.expireJwt(await server.auth.signIn())),
      reason: 'TOKEN_EXPIRED',
      lookups: 0,
    },
    {
      scenario: 'JWT expired, session expired',
      async given() {
        const session = await server.auth.signIn()
        await server.auth.expireSession(session)
        return browser(await server.auth.expireJwt(session))
      },
      reason: 'TOKEN_EXPIRED',
      lookups: 0,
    },
    {
      scenario: 'JWT valid, session expired',
      async given() {
        const session = await server.auth.signIn()
        await server.auth.expireSession(session)
        return browser(session)
      },
      reason: 'SESSION_EXPIRED',
      lookups: 1,
    },
    {
      scenario: 'User banned',
      async given() {
        const session = await server.auth.signIn()
        await server.auth.ban(session)
        return browser(session)
      },
      reason: 'ACCOUNT_BANNED',
      lookups: 1,
    },
  ]

  describe.each(scenarios)('$scenario: $reason', ({ given, reason, lookups }) => {
    test.each(CALL_PATHS)('over %s', async (transport) => {
      const visitor = await given()
      server.reset()

      const { rejection, status } = await ask(server, visitor, transport)

      expect(rejection).toEqual(reason === null ? null : rejectionFor(reason, { replay: true }))
      expect(status).toBe(statusOn(transport, reason === null ? 200 : REASONS[reason].status))
      expect(server.auth.lookups.count).toBe(lookups)
      expect(server.stage.runs).toHaveLength(reason === null ? 1 : 0)
    })
  })

  test('User banned: the user sees "Account banned"', async () => {
    const session = await server.auth.signIn()
    await server.auth.ban(session)
    const { rejection } = await ask(server, browser(session), 'httpLink over node')
    expect(rejection).toMatchObject({ message: 'Account banned', httpStatus: 403, code: 'FORBIDDEN' })
  })

  test.each(CALL_PATHS)('JWT expired, session valid: auto-refresh then 200, over %s', async (transport) => {
    const session = await server.auth.signIn()
    const visitor = browser(await server.auth.expireJwt(session))
    const { rejection } = await ask(server, visitor, transport)
    expect(rejection?.auth).toMatchObject({ reason: 'TOKEN_EXPIRED', replay: true })

    const refreshed = await callEndpoint(server, visitor, { method: 'GET', path: '/backend/token' })
    expect(refreshed.status).toBe(200)
    const replayed = await ask(server, withCookiesOf(refreshed, visitor), transport)

    expect(replayed.rejection).toBeNull()
    expect(server.stage.runs).toHaveLength(1)
  })

  test('JWT expired, session expired: the refresh is definitively rejected, so the user must sign in', async () => {
    const session = await server.auth.signIn()
    await server.auth.expireSession(session)
    const visitor = browser(await server.auth.expireJwt(session))
    const refreshed = await callEndpoint(server, visitor, { method: 'GET', path: '/backend/token' })
    expect(refreshed.status).toBe(401)
    expect(await refreshed.json()).toMatchObject({ code: 'SESSION_EXPIRED' })
  })

  test('a JWT that was copied before the sign-out is useless after it', async () => {
    const { visitor } = await signIn()
    await callEndpoint(server, visitor, { method: 'POST', path: '/sign-out' })
    const { rejection } = await ask(server, visitor, 'httpLink over node')
    expect(rejection?.auth?.reason).toBe('SESSION_NOT_FOUND')
  })

  test('an expired JWT stays rejected on its connection', async () => {
    const session = await server.auth.signIn()
    const visitor = browser(await server.auth.expireJwt(session))
    const client = connectWebSocket(server, visitor)
    await callEndpoint(server, visitor, { method: 'GET', path: '/backend/token' })
    for (const call of [1, 2]) {
      const { rejection } = await outcomeOf(client.me.query())
      expect(rejection?.auth?.reason, `call ${call}`).toBe('TOKEN_EXPIRED')
    }
  })
})
