import { AuthError } from '@sallyport/core'
import { afterAll, test as base, beforeAll, describe, expect, vi } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { callEndpoint, withCookiesOf } from '../support/call-endpoint.ts'
import { followNumbers } from '../support/follow-numbers.ts'
import { openClient, openSignedIn, pause, STREAM_LINKS } from '../support/open-client.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { browser } from '../support/visitor.ts'

/** Each test has a separate server, since the tests wait for a client's delays at the same time. */
const test = base.extend('server', async ({ onTestFinished }) => {
  const server = await startServer()
  onTestFinished(async () => {
    await server.clear()
    await server.close()
  })
  return server
})

// Random value of a client's shortest delays.
beforeAll(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterAll(() => void vi.restoreAllMocks())

const signedIn = (server: TestServer) => openSignedIn(server, {})

/** Makes the session database unreachable for the procedures. */
function loseDatabase({ store }: TestServer): void {
  store.answer = () => Promise.reject(new AuthError('SESSIONS_UNAVAILABLE'))
}

describe.concurrent.each(STREAM_LINKS)('a subscription over %s', (name) => {
  /** Opens a subscription that has received the first two numbers. */
  async function subscribed(server: TestServer) {
    const scene = await signedIn(server)
    const client = scene.connect(name)
    const stream = followNumbers(client)
    server.stage.count(2)
    await eventually(() => expect(stream.values).toEqual([1, 2]))
    return Object.assign(scene, { stream, client })
  }

  test('waits for a new JWT if the current one has expired', async ({ server }) => {
    const scene = await signedIn(server)
    scene.take(await server.auth.expireJwt(scene.session))
    const stream = followNumbers(scene.connect(name))
    server.stage.count(1)
    await eventually(() => expect(stream.values).toEqual([1]))
    expect(scene.count('token')).toBe(2)
    expect(stream.states.filter((state) => state.includes(':'))).toEqual([])
  })

  test('continues after its last event when its credentials were superseded, repeatedly', async ({
    server,
  }) => {
    const { authClient, stream, count } = await subscribed(server)
    for (let change = 1; change <= 3; change++) {
      await authClient.api.revokeCopies()
      server.stage.count(2)
      const length = 2 + 2 * change
      await eventually(() => expect(stream.values).toEqual(Array.from({ length }, (_, i) => i + 1)))
    }
    expect(stream.ended()).toBeNull()
    expect(count('token')).toBe(1)
  })

  test('continues when another program of this browser replaced its credentials, repeatedly', async ({
    server,
  }) => {
    const scene = await subscribed(server)
    for (let change = 1; change <= 2; change++) {
      const visitor = browser({ cookie: [...scene.jar].map((pair) => pair.join('=')).join('; ') })
      const request = { method: 'POST', path: '/revoke-copies', body: {} } as const
      const response = await callEndpoint(server, visitor, request)
      const asked = scene.count('token')
      await eventually(() => expect(scene.count('token')).toBeGreaterThan(asked))
      scene.take({ cookie: withCookiesOf(response, visitor).headers.cookie ?? '' })
      server.stage.count(2)
      const length = 2 + 2 * change
      await eventually(() => expect(scene.stream.values).toEqual(Array.from({ length }, (_, i) => i + 1)))
    }
    expect(scene.stream.ended()).toBeNull()
  })

  test('ends for a copy of the credentials, which is signed out with the reason', async ({ server }) => {
    const { jar, stream } = await subscribed(server)
    const copy = openClient(server, { cookie: [...jar].map((pair) => pair.join('=')).join('; ') })
    await copy.authClient.api.revokeCopies()
    await eventually(() => expect(stream.ended()).toBe('completed'))
    server.stage.count(1)
    await pause()
    expect(stream.values).toEqual([1, 2])
  })

  test('continues after its last event when the connection was lost', async ({ server }) => {
    const { breakConnections, stream } = await subscribed(server)
    breakConnections()
    server.stage.count(3)
    await eventually(() => expect(stream.values).toEqual([1, 2, 3, 4, 5]))
    expect(stream.states.at(-1)).toBe('pending')
    expect(stream.states).toContainEqual(expect.stringMatching(/^connecting: /))
    expect(stream.ended()).toBeNull()
  })

  test('continues after its last event when the new connection used an expired JWT', async ({ server }) => {
    const scene = await subscribed(server)
    scene.take(await server.auth.expireJwt(scene.session))
    scene.breakConnections()
    server.stage.count(3)
    await eventually(() => expect(scene.stream.values).toEqual([1, 2, 3, 4, 5]))
    expect(scene.count('token')).toBe(2)
    expect(scene.stream.ended()).toBeNull()
  })

  test("shows that its session can't be checked, and continues after its last event when it can", async ({
    server,
  }) => {
    const { breakConnections, stream, authClient } = await subscribed(server)
    loseDatabase(server)
    breakConnections()
    server.stage.count(1)
    await eventually(() => expect(stream.states.at(-1)).toBe('connecting: SESSIONS_UNAVAILABLE'))
    expect(authClient.getState()).toMatchObject({ status: 'authenticated', error: null })
    server.store.answer = null
    await eventually(() => expect(stream.values).toEqual([1, 2, 3]))
    expect(stream.states.at(-1)).toBe('pending')
    expect(stream.ended()).toBeNull()
  })

  test('ends before the request of a sign-out', async ({ server }) => {
    const scene = await subscribed(server)
    const { stream, authClient } = scene
    let endedBefore: unknown
    scene.intercept = (path) => {
      if (path === 'sign-out')
        endedBefore = { ended: stream.ended(), listeners: server.stage.ticker.listenerCount('count') }
      return undefined
    }
    const signedOut = authClient.signOut()
    expect(stream.ended()).toBe('completed')
    await signedOut
    expect(endedBefore).toMatchObject({ ended: 'completed' })
    await eventually(() => expect(server.stage.ticker.listenerCount('count')).toBe(0))
    await eventually(() => expect(server.sockets.size).toBe(0))
    server.stage.count(1)
    expect(stream.values).toEqual([1, 2])
  })

  test('is not sent during a sign-out', async ({ server }) => {
    const scene = await signedIn(server)
    const answered = Promise.withResolvers<Response>()
    scene.intercept = (path) => (path === 'sign-out' ? answered.promise : undefined)
    const signedOut = scene.authClient.signOut()
    const stream = followNumbers(scene.connect(name))
    expect(stream.ended()).toBe('completed')
    answered.resolve(Response.json({ success: true }))
    await signedOut
    expect(server.stage.runs).toEqual([])
  })

  test('ends when another user has signed in', async ({ server }) => {
    const { stream, signIn } = await subscribed(server)
    await signIn(await server.auth.signIn())
    expect(stream.ended()).toBe('completed')
    await eventually(() => expect(server.stage.ticker.listenerCount('count')).toBe(0))
  })

  test('ends when its session is revoked elsewhere, and the client is signed out', async ({ server }) => {
    const { stream, session, authClient } = await subscribed(server)
    await server.auth.revoke(session)
    await eventually(() => expect(stream.ended()).toBe('SESSION_NOT_FOUND'))
    await eventually(() =>
      expect(authClient.getState()).toMatchObject({ status: 'unauthenticated', userChanges: 1 }),
    )
  })

  test('ends when its user is banned, which the state shows, and is not sent again', async ({ server }) => {
    const { stream, session, authClient, sockets, count } = await subscribed(server)
    await server.auth.ban(session)
    await eventually(() => expect(stream.ended()).toBe('ACCOUNT_BANNED'))
    await eventually(() => expect(authClient.getState().error?.code).toBe('ACCOUNT_BANNED'))
    expect(authClient.getState()).toMatchObject({ status: 'authenticated', userChanges: 0 })
    await pause()
    expect(sockets.length + count('numbers')).toBe(1)
  })

  test('is not sent when it is unsubscribed while it waits for a JWT', async ({ server }) => {
    const scene = await signedIn(server)
    scene.take(await server.auth.expireJwt(scene.session))
    const renewed = Promise.withResolvers<void>()
    scene.intercept = (path, send) => (path === 'token' ? renewed.promise.then(send) : undefined)
    const client = scene.connect(name)
    const stream = followNumbers(client)
    await eventually(() => expect(scene.count('token')).toBe(2))
    stream.unsubscribe()
    renewed.resolve()
    await scene.authClient.refresh()
    await client.health.query().catch(() => {})
    expect(server.stage.runs).toEqual(name === 'webSocketLink' ? ['health'] : [])
    expect(scene.count('numbers')).toBe(name === 'webSocketLink' ? 0 : 1)
  })

  test('ends when it is aborted', async ({ server }) => {
    const scene = await signedIn(server)
    const page = new AbortController()
    const stream = followNumbers(scene.connect(name), page.signal)
    server.stage.count(1)
    await eventually(() => expect(stream.values).toEqual([1]))
    page.abort()
    expect(stream.ended()).toBe('completed')
    await eventually(() => expect(server.stage.ticker.listenerCount('count')).toBe(0))
  })
})
