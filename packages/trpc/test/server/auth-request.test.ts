import type { AuthStore } from '@sallyport/core'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { memoryFeed } from '@sallyport/core/internal/server'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reasonOf } from '../../../core/test/support/reason-of.ts'
import { authRequest } from '../../src/server/auth-handle.ts'
import type { AuthRequest } from '../../src/server/auth-request.ts'

let auth: TestAuth
let store: AuthStore
beforeAll(async () => {
  auth = await createTestAuth()
  store = { sessions: auth.lookups.sessions, revocations: memoryFeed() }
})
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

  test('are identified once Step 1 has passed, although a call of another kind runs it again', async () => {
    const request = await signedIn()
    await request.authenticate(store, 'query')
    const later = request.authenticate(store, 'mutation')
    expect(request.isIdentified()).toBe(true)
    await later
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
