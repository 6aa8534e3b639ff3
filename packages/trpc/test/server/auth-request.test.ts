import { type AuthStore, defineAuthConfig, staticJwks } from '@sallyport/core'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { memoryFeed } from '@sallyport/core/internal/server'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { reasonOf } from '../../../core/test/support/reason-of.ts'
import { authRequest } from '../../src/server/auth-handle.ts'
import { AuthRequest } from '../../src/server/auth-request.ts'
import type { RenewSession } from '../../src/server/sent-request.ts'
import { soon } from '../support/soon.ts'

const auth = await createTestAuth()
const store = { sessions: auth.lookups.sessions, revocations: memoryFeed() }
afterAll(() => auth.close())

async function signedIn(): Promise<AuthRequest> {
  const { cookie } = await auth.signIn()
  const headers = new Headers({ cookie, origin: auth.config.baseUrl })
  return createAuthContext(auth.config).headers(headers).auth[authRequest]
}

describe('the calls of a request', () => {
  test('share a read of one store, and never that of another', async () => {
    const request = await signedIn()
    const other: AuthStore = { sessions: { findSession: () => null }, revocations: memoryFeed() }
    expect(await reasonOf(request.authenticate(store, 'query'))).toBe('accepted')
    expect(await reasonOf(request.authenticate(other, 'query'))).toBe('SESSION_NOT_FOUND')
  })

  test('say whether credentials were checked', async () => {
    const request = await signedIn()
    expect([request.wasChecked(), request.isIdentified()]).toEqual([false, false])
    await request.authenticate(store, 'query')
    expect([request.wasChecked(), request.isIdentified()]).toEqual([true, true])
  })

  test('are identified once Step 1 has passed, although a call of another kind runs it again', async () => {
    const request = await signedIn()
    await request.authenticate(store, 'query')
    const later = request.authenticate(store, 'mutation')
    expect(request.isIdentified()).toBe(true)
    await later
  })
})

describe('the identity of a request', () => {
  test('outlives its JWT for calls of every kind, such as those of a long subscription', async () => {
    const own = await createTestAuth()
    onTestFinished(() => own.close())
    const ownStore = { sessions: own.lookups.sessions, revocations: memoryFeed() }
    const request = await requestWith({}, own)
    expect(await reasonOf(request.authenticate(ownStore, 'subscription'))).toBe('accepted')
    own.clock.advance(16 * 60)
    for (const kind of ['subscription', 'query', 'mutation'] as const)
      expect(await reasonOf(request.authenticate(ownStore, kind))).toBe('accepted')
    await own.db.deleteFrom('session').execute()
    expect(await reasonOf(request.authenticateFresh(ownStore, 'query'))).toBe('SESSION_NOT_FOUND')
  })

  test('does not allow a call whose kind has a stricter origin policy', async () => {
    const { cookie } = await auth.signIn()
    const request = createAuthContext(auth.config).headers({ cookie }).auth[authRequest]
    expect(await reasonOf(request.authenticate(store, 'query'))).toBe('accepted')
    expect(await reasonOf(request.authenticate(store, 'mutation'))).toBe('ORIGIN_REJECTED')
    expect(await reasonOf(request.authenticate(store, 'query'))).toBe('accepted')
  })
})

test("a call fails while keys can't be read, and the next call of the request succeeds", async () => {
  const { cookie } = await auth.signIn()
  const keys = staticJwks(auth.definition.signingKeys.publicJwks)
  const findKey = vi
    .fn<typeof keys.findKey>(keys.findKey)
    .mockRejectedValueOnce(new TypeError('fetch failed'))
  const { baseUrl, now } = auth.config
  const config = defineAuthConfig({ baseUrl, jwks: { ...keys, findKey }, now })
  const headers = new Headers({ cookie, origin: baseUrl })
  const request = createAuthContext(config).headers(headers).auth[authRequest]
  expect(await reasonOf(request.authenticate(store, 'query'))).toBe('KEYS_UNAVAILABLE')
  expect(await reasonOf(request.authenticate(store, 'query'))).toBe('accepted')
})

test.each([
  ['both cookies', (cookie: string) => cookie, true],
  [
    'the JWT alone',
    (cookie: string) => cookie.split('; ').find((pair) => pair.includes('.jwt')) ?? '',
    false,
  ],
  ['no cookie', () => '', false],
])('a request with %s: whether it has a session cookie', async (_name, cookieOf, has) => {
  const { cookie } = await auth.signIn()
  const context = createAuthContext(auth.config).headers(new Headers({ cookie: cookieOf(cookie) }))
  expect(context.auth[authRequest].hasSessionCookie()).toBe(has)
})

/** A request of the same caller, with other options. */
async function requestWith(
  options: Partial<ConstructorParameters<typeof AuthRequest>[1]>,
  own = auth,
): Promise<AuthRequest> {
  const { cookie } = await own.signIn()
  const headers = new Headers({ cookie, origin: own.config.baseUrl })
  const { request } = createAuthContext(own.config).headers(headers).auth[authRequest]
  const shared = { config: own.config, trustsProxy: () => false, ownDb: undefined }
  const defaults = {
    transport: 'http',
    kind: 'query',
    carriesStreams: true,
    remoteAddress: undefined,
  } as const
  return new AuthRequest(request, { shared, ...defaults, ...options })
}

describe('a handshake', () => {
  const connection = { limiter: undefined, onRead() {}, onError() {} }
  const open = (own?: TestAuth) => requestWith({ transport: 'ws', kind: 'upgrade', connection }, own)
  const lost = { sessions: { findSession: () => null }, revocations: memoryFeed() }

  test('that fails is the result of the calls that came meanwhile, and of no later one', async () => {
    const request = await open()
    request.beginHandshake(lost)
    const calls = [request.authenticate(store, 'query'), request.authenticate(store, 'mutation')]
    expect(await Promise.all(calls.map(reasonOf))).toEqual(['SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'])
    expect(await reasonOf(request.authenticate(store, 'query'))).toBe('accepted')
  })

  test('of a connection that nothing guards passes its result on, too', async () => {
    const request = await requestWith({ transport: 'ws', kind: 'upgrade' })
    request.beginHandshake(store)
    expect(await reasonOf(request.authenticate(store, 'query'))).toBe('accepted')
  })

  test('that a call waits for is reported by that call alone', async () => {
    const failures: object[] = []
    const own = await createTestAuth({ onFailure: (failure) => void failures.push(failure) })
    const request = await open(own)
    const down = Promise.withResolvers<never>()
    const findSession = vi.fn(() => down.promise)
    request.beginHandshake({ ...lost, sessions: { findSession } })
    const call = request.authenticate(store, 'query')
    await soon(() => expect(findSession).toHaveBeenCalledOnce())
    down.reject(new Error('down'))
    expect(await reasonOf(call)).toBe('SESSIONS_UNAVAILABLE')
    expect(failures).toEqual([])
    await own.close()
  })

  test('that no call waits for is reported with its step', async () => {
    const failures: object[] = []
    const own = await createTestAuth({ onFailure: (failure) => void failures.push(failure) })
    const request = await open(own)
    const down = { ...lost, sessions: { findSession: () => Promise.reject(new Error('down')) } }
    request.beginHandshake(down)
    await soon(() => expect(failures).toMatchObject([{ path: 'handshake', step: 'step2' }]))
    await own.close()
  })
})

test('a mutation needs the origin that a query does not', async () => {
  const { cookie } = await auth.signIn()
  const headers = new Headers({ cookie })
  const request = createAuthContext(auth.config).headers(headers).auth[authRequest]
  const kinds = ['query', 'mutation'] as const
  const results = await Promise.all(kinds.map((kind) => reasonOf(request.authenticate(store, kind))))
  expect(results).toEqual(['accepted', 'ORIGIN_REJECTED'])
})

describe('a renewal', () => {
  const due = (renew: RenewSession) => requestWith({ renew })

  test('adds its headers once the session was read again', async () => {
    const addHeaders = vi.fn<() => void>()
    auth.lookups.reset()
    const request = await due(async () => addHeaders)
    const read = await request.authenticate(store, 'query')
    expect(auth.lookups.count).toBe(2)
    expect(addHeaders).toHaveBeenCalledOnce()
    expect(read.session.id).toBe(read.identity.sessionId)
  })

  test('that is not due costs no read', async () => {
    auth.lookups.reset()
    await (await due(() => null)).authenticate(store, 'query')
    expect(auth.lookups.count).toBe(1)
  })

  test('of a session that ends meanwhile adds none', async () => {
    const addHeaders = vi.fn<() => void>()
    const request = await due(async ({ identity }) => {
      await auth.db.deleteFrom('session').where('id', '=', identity.sessionId).execute()
      return addHeaders
    })
    expect(await reasonOf(request.authenticate(store, 'query'))).toBe('SESSION_NOT_FOUND')
    expect(addHeaders).not.toHaveBeenCalled()
  })
})

test.each(['query', 'mutation', 'subscription'] as const)(
  'a %s over a WebSocket needs the origin of an upgrade, which a script without one lacks',
  async (kind) => {
    const { cookie } = await auth.signIn()
    const req = { headers: { cookie, [CLIENT_HEADER]: '1' } }
    const context = createAuthContext(auth.config).ws({ req, info: { connectionParams: null } })
    // The first call gets the result of the handshake, the second one its own.
    for (let call = 0; call < 2; call++)
      expect(await reasonOf(context.auth[authRequest].authenticate(store, kind))).toBe('ORIGIN_REJECTED')
  },
)
