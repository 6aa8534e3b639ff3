import { AuthError } from '@sallyport/core'
import type { AuthErrorData } from '@sallyport/core/internal/protocol'
import { authLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpLink, TRPCClientError, type TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { clientSession } from '../../src/client/client-session.ts'
import {
  type AppClient,
  CALL_LINKS,
  type ClientScene,
  openClient,
  openSignedIn,
  type SignedInScene,
} from '../support/open-client.ts'
import type { AppRouter } from '../support/router.ts'
import { soon } from '../support/soon.ts'
import { startServer } from '../support/start-server.ts'

const server = await startServer()
/** Two users who take turns. */
const ada = await server.auth.createUser()
const grace = await server.auth.createUser()
afterEach(() => server.clear())
afterAll(() => server.close())

/** Opens a browser whose client is signed in and has sent no other request. */
async function signedIn(user: { userId?: string } = ada): Promise<SignedInScene> {
  const scene = await openSignedIn(server, user)
  scene.requests.length = 0
  return scene
}

/** Opens a browser whose JWT has expired without the client's knowledge. */
async function expired(user?: { userId?: string }): Promise<SignedInScene> {
  const scene = await signedIn(user)
  scene.take(await server.auth.expireJwt(scene.session))
  return scene
}

/** Signs another user in, in the same browser. */
async function signInGrace(scene: SignedInScene): Promise<void> {
  await scene.signIn(await server.auth.signIn(grace))
}

interface Failure {
  readonly message: string
  readonly cause?: { readonly code?: string }
  readonly data?: { readonly code: string; readonly httpStatus: number; readonly auth: AuthErrorData | null }
}

/** Returns the error of a call. */
function failureOf(call: Promise<unknown>): Promise<Failure> {
  return call.then(
    (answer) => {
      throw new TypeError(`It was answered: ${answer}`)
    },
    (error: Failure) => error,
  )
}

const USER_CHANGED = {
  cause: { code: 'USER_CHANGED' },
  data: { code: 'CLIENT_CLOSED_REQUEST', httpStatus: 499, auth: null },
}

/** Replaces a response of the token endpoint. */
function answerToken(scene: ClientScene, answer: () => Response): void {
  scene.intercept = (path) => (path === 'token' ? Promise.resolve().then(answer) : undefined)
}

/** Holds back the responses to a request until the promise resolves. */
function holdBack(scene: ClientScene, request: string, until: Promise<void>): void {
  scene.intercept = (path, send) =>
    path === request ? send().then((response) => until.then(() => response)) : undefined
}

describe.each(CALL_LINKS)('over %s', (name) => {
  const overHttp = (...paths: string[]) => (name === 'webSocketLink' ? [] : paths)

  test('waits for a fresh JWT if the current one is due', async () => {
    const session = await server.auth.signIn(ada)
    const { userId, sessionId } = session
    const hydrate = { status: 'authenticated', userId, sessionId, expiresIn: 0 } as const
    const scene = openClient(server, await server.auth.expireJwt(session), { hydrate })
    expect(await scene.connect(name).me.query()).toBe(userId)
    expect(scene.requests).toEqual(['token', ...overHttp('me')])
    expect(scene.sockets).toHaveLength(name === 'webSocketLink' ? 1 : 0)
  })

  test.each([
    { token: 'that has expired', arrange: async () => {} },
    {
      token: 'that is missing',
      arrange: async ({ jar }: SignedInScene) => jar.delete(server.config.cookies.jwt),
    },
    {
      token: 'that is not valid',
      arrange: async ({ jar }: SignedInScene) => jar.set(server.config.cookies.jwt, 'a.b.c'),
    },
  ])('sends a call with a JWT $token again once, with a new one', async ({ arrange }) => {
    const scene = await expired()
    await arrange(scene)
    const client = scene.connect(name)
    expect(await client.write.mutate()).toBe('written')
    expect(await client.me.query()).toBe(scene.session.userId)
    expect(scene.requests).toEqual([...overHttp('write'), 'token', ...overHttp('write', 'me')])
    expect(server.stage.runs).toEqual(['write', 'me'])
  })

  test('100 calls at expiry cause one refresh, all get responses, and each runs once', async () => {
    const scene = await expired()
    const client = scene.connect(name)
    const isWrite = (index: number) => index % 2 === 0
    const calls = Array.from({ length: 100 }, (_, index) =>
      isWrite(index) ? client.write.mutate() : client.me.query(),
    )
    const expected = calls.map((_, index) => (isWrite(index) ? 'written' : scene.session.userId))
    expect(await Promise.all(calls)).toEqual(expected)
    expect(scene.count('token')).toBe(1)
    expect(server.stage.runs.toSorted()).toEqual([...Array(50).fill('me'), ...Array(50).fill('write')])
  })

  test('a call that is rejected again with the new JWT fails', async () => {
    const scene = await expired()
    const expiredJwt = scene.jar.get(server.config.cookies.jwt) ?? ''
    // As if the cookie's path didn't match the calls.
    scene.intercept = (path, send) =>
      path === 'token'
        ? send().then((answer) => new Response(answer.body, { status: answer.status }))
        : undefined
    expect(await failureOf(scene.connect(name).me.query())).toMatchObject({
      data: { auth: { reason: 'TOKEN_EXPIRED', replay: true } },
    })
    expect(scene.jar.get(server.config.cookies.jwt)).toBe(expiredJwt)
    expect(scene.requests).toEqual([...overHttp('me'), 'token', ...overHttp('me')])
    expect(server.stage.runs).toEqual([])
  })

  test('a call whose resolver hit another guard is not sent again, and the next call has a new JWT', async () => {
    const scene = await expired()
    const client = scene.connect(name)
    const jwt = () => scene.jar.get(server.config.cookies.jwt)
    const former = jwt()
    expect(await failureOf(client.peek.query())).toMatchObject({
      data: { auth: { reason: 'TOKEN_EXPIRED', replay: false } },
    })
    await soon(() => expect(jwt()).not.toBe(former))
    expect(await client.me.query()).toBe(scene.session.userId)
    expect(scene.requests).toEqual([...overHttp('peek'), 'token', ...overHttp('me')])
    expect(server.stage.runs).toEqual(['peek', 'me'])
  })

  test.each([
    {
      reason: 'SESSION_NOT_FOUND',
      arrange: ({ session }: SignedInScene) => server.auth.revoke(session),
      call: (client: AppClient) => client.write.mutate(),
    },
    {
      reason: 'SESSION_EXPIRED',
      arrange: ({ session }: SignedInScene) => server.auth.expireSession(session),
      call: (client: AppClient) => client.me.query(),
    },
    {
      reason: 'ACCOUNT_BANNED',
      arrange: ({ session }: SignedInScene) => server.auth.ban(session),
      call: (client: AppClient) => client.me.query(),
    },
    {
      reason: 'ROLE_REQUIRED',
      arrange: async () => {},
      call: (client: AppClient) => client.users.query(),
    },
    {
      reason: 'SESSIONS_UNAVAILABLE',
      arrange: async () => {
        server.store.answer = () => Promise.reject(new AuthError('SESSIONS_UNAVAILABLE'))
      },
      call: (client: AppClient) => client.me.query(),
    },
  ])("passes $reason on and doesn't send the call again", async ({ reason, arrange, call }) => {
    const scene = await signedIn(reason === 'ACCOUNT_BANNED' ? {} : ada)
    await arrange(scene)
    const failure = await failureOf(call(scene.connect(name)))
    expect(failure).toMatchObject({ data: { auth: { reason } } })
    expect(scene.requests.filter((request) => request !== 'token')).toHaveLength(
      name === 'webSocketLink' ? 0 : 1,
    )
    expect(server.stage.runs).toEqual([])
  })

  test("a response to one user doesn't reach the next", async () => {
    const scene = await signedIn()
    const client = scene.connect(name)
    await client.health.query()
    server.stage.closeGate()
    const failure = failureOf(client.slow.query())
    await soon(() => expect(scene.requests).toEqual(overHttp('health', 'slow')))
    await signInGrace(scene)
    server.stage.openGate()
    expect(await failure).toMatchObject(USER_CHANGED)
    expect(await client.me.query()).toBe(grace.userId)
  })

  test.each(['query', 'mutation'] as const)(
    'a %s of one user that waited for a JWT is not sent for the next user',
    async (type) => {
      const { userId, sessionId } = await server.auth.signIn(ada)
      const hydrate = { status: 'authenticated', userId, sessionId, expiresIn: 0 } as const
      const scene = openClient(server, await server.auth.signIn(grace), { hydrate })
      const client = scene.connect(name)
      const failure = failureOf(type === 'query' ? client.me.query() : client.write.mutate())
      expect(await failure).toMatchObject(USER_CHANGED)
      expect(server.stage.runs).toEqual([])
    },
  )

  test('a call that is aborted while it waits fails at once, and is not sent', async () => {
    const session = await server.auth.signIn(ada)
    const { userId, sessionId } = session
    const hydrate = { status: 'authenticated', userId, sessionId, expiresIn: 0 } as const
    const scene = openClient(server, session, { hydrate })
    const renewed = Promise.withResolvers<void>()
    holdBack(scene, 'token', renewed.promise)
    const page = new AbortController()
    const client = scene.connect(name)
    const failures = Promise.all([
      failureOf(client.me.query(undefined, { signal: page.signal })),
      failureOf(client.write.mutate(undefined, { signal: page.signal })),
    ])
    await soon(() => expect(scene.count('token')).toBe(1))
    page.abort()
    expect(await failures).toMatchObject([
      { cause: { name: 'AbortError' } },
      { cause: { name: 'AbortError' } },
    ])
    renewed.resolve()
    expect(await client.me.query()).toBe(userId)
    expect(server.stage.runs).toEqual(['me'])
  })

  test('a call that is aborted after it was sent fails at once', async () => {
    const scene = await signedIn()
    const client = scene.connect(name)
    await client.health.query()
    server.stage.closeGate()
    const page = new AbortController()
    const failure = failureOf(client.slow.query(undefined, { signal: page.signal }))
    const other = client.slow.query()
    await soon(() => expect([...scene.requests, ...scene.frames].at(-1)).toContain('slow'))
    page.abort()
    expect(await failure).toMatchObject({ cause: { name: 'AbortError' } })
    server.stage.openGate()
    expect(await other).toBe(ada.userId)
  })

  test('a call that is aborted from the start is not sent', async () => {
    const scene = await signedIn()
    const failure = await failureOf(scene.connect(name).me.query(undefined, { signal: AbortSignal.abort() }))
    expect(failure).toMatchObject({ cause: { name: 'AbortError' } })
    expect(scene.requests).toEqual([])
    expect(scene.sockets).toEqual([])
  })
})

test.each(['httpBatchLink', 'httpBatchStreamLink'] as const)(
  'only the rejected calls of a batch are sent again, over %s',
  async (name) => {
    const scene = await expired()
    const client = scene.connect(name)
    const answers = await Promise.all([client.health.query(), client.me.query(), client.whoami.query()])
    expect(answers).toEqual(['ok', scene.session.userId, scene.session.userId])
    const [first, token, second] = scene.requests
    expect([first, token, second?.split(',').toSorted()]).toEqual([
      'health,me,whoami',
      'token',
      ['me', 'whoami'],
    ])
    expect(scene.requests).toHaveLength(3)
    expect(server.stage.runs.toSorted()).toEqual(['health', 'me', 'whoami'])
  },
)

test('a call whose resolver hit another guard does not wait for the refresh', async () => {
  const scene = await expired()
  const { promise, resolve } = Promise.withResolvers<void>()
  holdBack(scene, 'token', promise)
  const failure = await failureOf(scene.connect('httpLink').peek.query())
  expect(failure).toMatchObject({ data: { auth: { reason: 'TOKEN_EXPIRED', replay: false } } })
  resolve()
})

test('a call that is rejected a second time waits for new credentials in flight, and is sent again', async () => {
  const { authClient } = await signedIn()
  const session = authClient[clientSession]
  const change = Promise.withResolvers<object>()
  const data = { auth: { reason: 'TOKEN_INVALID', replay: true } }
  let sent = 0
  const link: TRPCLink<AppRouter> = () => () =>
    observable((observer) => {
      sent++
      if (sent === 2) void session.change(() => change.promise)
      if (sent < 3) observer.error(TRPCClientError.from({ error: { code: -32001, message: '', data } }))
      else observer.next({ result: { data: 'ok' } })
      observer.complete()
    })
  const call = createTRPCClient<AppRouter>({ links: [authLink(authClient), link] }).me.query()
  await soon(() => expect(sent).toBe(2))
  const { userId, sessionId } = session.getState()
  change.resolve({ userId, sessionId, expiresIn: 900 })
  expect(await call).toBe('ok')
})

test('a late rejection of an older JWT is retried with the JWT that has arrived since', async () => {
  const scene = await expired()
  const client = scene.connect('httpLink')
  const late = Promise.withResolvers<void>()
  holdBack(scene, 'secret', late.promise)
  const secret = client.secret.query()
  await soon(() => expect(scene.count('secret')).toBe(1))
  expect(await client.me.query()).toBe(scene.session.userId)
  late.resolve()
  expect(await secret).toBe(scene.session.sessionId)
  expect(scene.requests).toEqual(['secret', 'me', 'token', 'me', 'secret'])
})

test('a late error for one user does not reach the next', async () => {
  const scene = await signedIn()
  const late = Promise.withResolvers<void>()
  holdBack(scene, 'missing', late.promise)
  const failure = failureOf(scene.connect('httpLink').missing.query())
  await soon(() => expect(scene.count('missing')).toBe(1))
  await signInGrace(scene)
  late.resolve()
  expect(await failure).toMatchObject(USER_CHANGED)
})

test('a mutation is never sent after its user has changed, however late that is', async () => {
  const { authClient } = await signedIn()
  const { emit, getState } = authClient[clientSession]
  const sent: [before: number, at: number][] = []
  for (let microtasks = 0; microtasks < 10; microtasks++) {
    const before = getState().userChanges
    const record: TRPCLink<AppRouter> = () => () =>
      observable((observer) => {
        sent.push([before, getState().userChanges])
        observer.complete()
      })
    const client = createTRPCClient<AppRouter>({ links: [authLink(authClient), record] })
    const call = client.write.mutate().catch(() => {})
    for (let step = 0; step < microtasks; step++) await null
    const receipt = { userId: 'grace', sessionId: `grace-${microtasks}`, expiresIn: 900 }
    emit({ type: 'received', receipt: { ...receipt, seq: Date.now() + 60_000 + microtasks } })
    expect(getState().userChanges).toBe(before + 1)
    await call
  }
  expect(sent.length).toBeGreaterThan(0)
  for (const [before, at] of sent) expect(at).toBe(before)
})

describe('if new JWTs are repeatedly rejected', () => {
  test('the fourth call in a minute fails with REFRESH_LOOP instead of a refresh', async () => {
    const scene = await expired()
    const client = scene.connect('httpLink')
    scene.intercept = (path, send) =>
      path === 'token'
        ? send().then((answer) => new Response(answer.body, { status: answer.status }))
        : undefined
    for (const count of [1, 2, 3]) {
      await failureOf(client.me.query())
      expect(scene.count('token')).toBe(count)
    }
    const { message, cause, data } = await failureOf(client.me.query())
    expect(cause).toMatchObject({ code: 'REFRESH_LOOP', message })
    expect(data).toMatchObject({
      code: 'UNAUTHORIZED',
      httpStatus: 401,
      path: 'me',
      auth: { reason: 'TOKEN_EXPIRED', replay: true },
    })
    expect(scene.count('token')).toBe(3)
    expect(scene.count('me')).toBe(7)
  })
})

describe('while the server cannot validate the session', () => {
  const OUTAGES = [
    {
      answer: 'SESSIONS_UNAVAILABLE',
      response: () => rejection(503, 'SESSIONS_UNAVAILABLE', 7),
      data: { code: 'SERVICE_UNAVAILABLE', httpStatus: 503 },
      auth: { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: 7 },
    },
    {
      answer: 'KEYS_UNAVAILABLE',
      response: () => rejection(503, 'KEYS_UNAVAILABLE', 2),
      data: { code: 'SERVICE_UNAVAILABLE', httpStatus: 503 },
      auth: { reason: 'KEYS_UNAVAILABLE', retryAfterSeconds: 2 },
    },
    {
      answer: 'RATE_LIMITED',
      response: () => rejection(429, 'RATE_LIMITED', 5),
      data: { code: 'TOO_MANY_REQUESTS', httpStatus: 429 },
      auth: { reason: 'RATE_LIMITED', retryAfterSeconds: 5 },
    },
    {
      answer: 'nothing',
      response: () => {
        throw new TypeError('fetch failed')
      },
      data: { code: 'SERVICE_UNAVAILABLE', httpStatus: 503 },
      auth: { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: null },
    },
    {
      answer: "a proxy's page",
      response: () => new Response('<html>', { status: 401 }),
      data: { code: 'SERVICE_UNAVAILABLE', httpStatus: 503 },
      auth: { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: null },
    },
    {
      answer: "a proxy's 503",
      response: () => new Response('<html>', { status: 503 }),
      data: { code: 'SERVICE_UNAVAILABLE', httpStatus: 503 },
      auth: { reason: 'SESSIONS_UNAVAILABLE', retryAfterSeconds: null },
    },
  ]

  test.each(OUTAGES)('a mutation fails with $answer of the token endpoint', async (outage) => {
    const scene = await expired()
    answerToken(scene, outage.response)
    const { data } = await failureOf(scene.connect('httpLink').write.mutate())
    expect(data).toMatchObject({ ...outage.data, path: 'write', auth: { ...outage.auth, replay: true } })
    expect(server.stage.runs).toEqual([])
  })

  test.each(OUTAGES)('a query waits on $answer of the token endpoint', async ({ response }) => {
    const scene = await expired()
    const { authClient } = scene
    answerToken(scene, response)
    const answer = scene.connect('httpLink').me.query()
    await soon(() => expect(authClient.getState().error).not.toBeNull())
    scene.intercept = () => undefined
    await authClient.refresh()
    expect(await answer).toBe(scene.session.userId)
    expect(scene.count('me')).toBe(2)
    expect(authClient.getState()).toMatchObject({ status: 'authenticated', error: null })
  })

  test.each([
    {
      outcome: 'signed out',
      arrange: ({ session }: SignedInScene) => server.auth.revoke(session),
      data: { code: 'UNAUTHORIZED', httpStatus: 401 },
      reason: 'SESSION_NOT_FOUND',
    },
    {
      outcome: 'banned',
      arrange: ({ session }: SignedInScene) => server.auth.ban(session),
      data: { code: 'FORBIDDEN', httpStatus: 403 },
      reason: 'ACCOUNT_BANNED',
    },
  ])('a waiting query fails if the user turns out to be $outcome', async ({ arrange, data, reason }) => {
    const scene = await expired(reason === 'ACCOUNT_BANNED' ? {} : ada)
    answerToken(scene, () => rejection(503, 'SESSIONS_UNAVAILABLE', 1))
    const failure = failureOf(scene.connect('httpLink').me.query())
    await soon(() => expect(scene.authClient.getState().error).not.toBeNull())
    await arrange(scene)
    scene.intercept = () => undefined
    await scene.authClient.refresh()
    expect(await failure).toMatchObject({ data: { ...data, path: 'me', auth: { reason } } })
    expect(scene.count('me')).toBe(1)
  })
})

describe('a call that needs a new JWT', () => {
  test.each([
    { answer: 'SESSION_NOT_FOUND', arrange: ({ session }: SignedInScene) => server.auth.revoke(session) },
    { answer: 'ACCOUNT_BANNED', arrange: ({ session }: SignedInScene) => server.auth.ban(session) },
  ])('fails with $answer of the token endpoint', async ({ answer, arrange }) => {
    const scene = await expired(answer === 'ACCOUNT_BANNED' ? {} : ada)
    await arrange(scene)
    const client = scene.connect('httpBatchLink')
    const failures = await Promise.all([failureOf(client.me.query()), failureOf(client.secret.query())])
    for (const { data } of failures) expect(data).toMatchObject({ auth: { reason: answer, replay: true } })
    expect(scene.requests).toEqual(['me,secret', 'token'])
  })

  test("fails with the token endpoint's rejection by policy, though the client keeps retrying", async () => {
    const scene = await expired()
    answerToken(scene, () => rejection(403, 'ORIGIN_REJECTED'))
    const { data } = await failureOf(scene.connect('httpLink').me.query())
    expect(data).toMatchObject({ code: 'FORBIDDEN', httpStatus: 403, auth: { reason: 'ORIGIN_REJECTED' } })
  })

  test('fails if no user is signed in', async () => {
    const scene = openClient(server)
    await scene.authClient.refresh()
    const failure = await failureOf(scene.connect('httpLink').me.query())
    expect(failure).toMatchObject({ data: { auth: { reason: 'SESSION_NOT_FOUND' } } })
    expect(scene.requests).toEqual(['token', 'me'])
  })

  test('gets a response if it needs no user', async () => {
    const scene = openClient(server)
    expect(await scene.connect('httpLink').whoami.query()).toBeNull()
  })

  test('gets a response if it needs no user, also on a page from the history during an outage', async () => {
    const scene = openClient(server)
    await scene.authClient.refresh()
    answerToken(scene, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    scene.authClient[clientSession].emit({ type: 'stale' })
    expect(await scene.connect('httpLink').whoami.query()).toBeNull()
  })
})

describe('a rejection that may end the session', () => {
  test('signs out if the token endpoint agrees', async () => {
    const scene = await signedIn()
    await server.auth.revoke(scene.session)
    await failureOf(scene.connect('httpLink').me.query())
    await soon(() =>
      expect(scene.authClient.getState()).toMatchObject({ status: 'unauthenticated', userChanges: 1 }),
    )
    expect(scene.requests).toEqual(['me', 'token'])
  })

  test("doesn't sign out if the token endpoint disagrees", async () => {
    const scene = await signedIn()
    server.store.answer = async () => null
    const failure = await failureOf(scene.connect('httpLink').me.query())
    expect(failure).toMatchObject({ data: { auth: { reason: 'SESSION_NOT_FOUND' } } })
    await soon(() => expect(scene.requests).toEqual(['me', 'token']))
    await scene.authClient.refresh()
    expect(scene.authClient.getState()).toMatchObject({
      status: 'authenticated',
      userChanges: 0,
      error: null,
    })
  })

  test('shows a ban, and keeps the state', async () => {
    const scene = await signedIn({})
    await server.auth.ban(scene.session)
    await failureOf(scene.connect('httpLink').me.query())
    await soon(() => expect(scene.authClient.getState().error?.code).toBe('ACCOUNT_BANNED'))
    expect(scene.authClient.getState()).toMatchObject({ status: 'authenticated', userChanges: 0 })
  })
})

describe('a query that responds with a stream', () => {
  async function streaming() {
    const scene = await signedIn()
    const stream = await scene.connect('httpBatchStreamLink').streamed.query()
    const values = stream[Symbol.asyncIterator]()
    expect(await values.next()).toEqual({ done: false, value: 'ready' })
    return Object.assign(scene, { values })
  }

  test('continues as long as it is read', async () => {
    const { values } = await streaming()
    server.stage.ticker.emit('tick', 'on')
    expect(await values.next()).toEqual({ done: false, value: 'on' })
    await values.return?.()
    await soon(() => expect(server.stage.ticker.listenerCount('tick')).toBe(0))
  })

  test('keeps the value that it returns', async () => {
    const { authClient } = await signedIn()
    let isClosed = false
    async function* stream() {
      try {
        yield 'first'
        return 'returned'
      } finally {
        isClosed = true
      }
    }
    const lastLink: TRPCLink<AppRouter> = () => () =>
      observable((observer) => {
        observer.next({ result: { data: stream() } })
        observer.complete()
      })
    const client = createTRPCClient<AppRouter>({ links: [authLink(authClient), lastLink] })
    const values = (await client.streamed.query())[Symbol.asyncIterator]()
    expect(await values.next()).toEqual({ done: false, value: 'first' })
    expect(await values.next()).toEqual({ done: true, value: 'returned' })
    const others = (await client.streamed.query())[Symbol.asyncIterator]()
    await others.next()
    isClosed = false
    await others.return?.()
    expect(isClosed).toBe(true)
  })

  test('ends when the session is revoked, and the client is signed out', async () => {
    const { values, session, authClient } = await streaming()
    const failure = failureOf(values.next())
    await server.auth.revoke(session)
    expect(await failure).toMatchObject({ data: { auth: { reason: 'SESSION_NOT_FOUND' } } })
    await soon(() =>
      expect(authClient.getState()).toMatchObject({ status: 'unauthenticated', userChanges: 1 }),
    )
  })

  test('gives nothing to the next user', async () => {
    const scene = await streaming()
    const failure = failureOf(scene.values.next())
    await signInGrace(scene)
    server.stage.ticker.emit('tick', 'on')
    expect(await failure).toMatchObject(USER_CHANGED)
    await soon(() => expect(server.stage.ticker.listenerCount('tick')).toBe(0))
  })
})

describe('during a sign-out', () => {
  async function signingOut() {
    const scene = await signedIn()
    const answered = Promise.withResolvers<Response>()
    scene.intercept = (path) => (path === 'sign-out' ? answered.promise : undefined)
    const signedOut = scene.authClient.signOut().catch(() => {})
    expect(scene.authClient.getState().status).toBe('signing-out')
    return Object.assign(scene, { answered, signedOut })
  }

  test('a mutation fails, and is not sent', async () => {
    const { connect, authClient, answered } = await signingOut()
    expect(await failureOf(connect('httpLink').write.mutate())).toMatchObject(USER_CHANGED)
    expect(authClient.getState().status).toBe('signing-out')
    answered.resolve(Response.json({ success: true }))
    expect(server.stage.runs).toEqual([])
  })

  test('a query waits, and is not sent after the sign-out', async () => {
    const { connect, answered, signedOut } = await signingOut()
    const failure = failureOf(connect('httpLink').me.query())
    answered.resolve(Response.json({ success: true }))
    await signedOut
    expect(await failure).toMatchObject(USER_CHANGED)
    expect(server.stage.runs).toEqual([])
  })

  test('a query waits, and is sent if the server rejects the sign-out', async () => {
    const { connect, answered, signedOut, session } = await signingOut()
    const answer = connect('httpLink').me.query()
    answered.resolve(rejection(403, 'ORIGIN_REJECTED'))
    await signedOut
    expect(await answer).toBe(session.userId)
  })
})

describe('the next link', () => {
  test('may come from another copy of tRPC', async () => {
    const scene = await signedIn()
    class OtherError extends Error {
      readonly data = { auth: { reason: 'TOKEN_EXPIRED', retryAfterSeconds: null, replay: true } }
    }
    let attempts = 0
    const other: unknown = () => () =>
      observable((observer) => {
        attempts++
        observer.error(new OtherError('rejected'))
      })
    const links = [authLink(scene.authClient), other as TRPCLink<AppRouter>]
    const failure = await failureOf(createTRPCClient<AppRouter>({ links }).me.query())
    expect(failure).toMatchObject({ message: 'rejected' })
    expect(attempts).toBe(2)
    expect(scene.count('token')).toBe(1)
  })

  test('may throw', async () => {
    const scene = await signedIn()
    const broken: TRPCLink<AppRouter> = () => () => {
      throw new Error('a bug of the app')
    }
    const links = [authLink(scene.authClient), broken]
    const failure = await failureOf(createTRPCClient<AppRouter>({ links }).me.query())
    expect(failure.message).toBe('a bug of the app')
  })
})

test('an error of a client from another copy of the library keeps its reason', async () => {
  const scene = await expired()
  await server.auth.revoke(scene.session)
  vi.resetModules()
  const { authLink: linkOfOtherCopy } = await import('@sallyport/trpc/client')
  expect(linkOfOtherCopy).not.toBe(authLink)
  const client = createTRPCClient<AppRouter>({
    links: [
      linkOfOtherCopy(scene.authClient),
      httpLink({ url: `http://${server.host}/trpc`, fetch: scene.authClient.fetch }),
    ],
  })
  const failure = await failureOf(client.write.mutate())
  expect(failure).toMatchObject({ data: { httpStatus: 401, auth: { reason: 'SESSION_NOT_FOUND' } } })
})

/** Creates a rejection by an auth endpoint. */
function rejection(status: number, code: string, retryAfterSeconds?: number): Response {
  return Response.json({ code, message: code, retryAfterSeconds }, { status })
}
