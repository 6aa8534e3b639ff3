import { staticJwks, verifyJwt } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createInternalHandler } from '@sallyport/trpc/action'
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDirectory } from '../../../../core/test/support/temporary-directory.ts'
import { createInternalScene, holdWork } from '../../support/internal-scene.ts'
import {
  bodyOf,
  requestFor,
  resign,
  type SentCall,
  type TokenChanges,
  tokenFor,
} from '../../support/service-call.ts'
import { soon } from '../../support/soon.ts'

const directory = temporaryDirectory()
const SAVE: SentCall = { type: 'mutation', path: 'report.save', input: { title: 'One' } }
const LIST: SentCall = { type: 'query', path: 'report.list' }

const scene = await createInternalScene(directory)
const ada = await scene.auth.signIn()
beforeEach(() => scene.reset())
afterAll(() => scene.close())

async function answerTo(request: Request, node = scene.node): Promise<{ status: number; body: unknown }> {
  const response = await node.handler(request)
  return { status: response.status, body: await response.json() }
}
const send = async (call: SentCall, changes?: TokenChanges, node = scene.node) =>
  answerTo(requestFor(call, await tokenFor(scene, call, changes)), node)
const rejectedBody = (status: number, rejection: string) => ({
  id: 'sallyport.internal',
  error: {
    code: expect.any(Number),
    message: `An internal call was rejected: ${rejection}`,
    data: {
      code: expect.any(String),
      httpStatus: status,
      auth: null,
      endpoint: null,
      configuration: null,
      rejection,
    },
  },
})
const rejectedWith = (status: number, rejection: string) => ({
  status,
  body: rejectedBody(status, rejection),
})
const INVALID = rejectedWith(401, 'TOKEN_INVALID')

/** Returns the body of a call with an invalid UTF-8 character. */
function notUtf8(): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(bodyOf(SAVE))
  return bytes.with(bytes.indexOf(0x4f), 0xff)
}

test('a call runs, and its response is never cached', async () => {
  const response = await scene.node.handler(requestFor(SAVE, await tokenFor(scene, SAVE)))
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toEqual({
    'content-type': 'application/json',
    'cache-control': 'no-store',
  })
  expect(await response.json()).toEqual({
    id: 'sallyport.internal',
    result: { data: { title: 'One', by: null, id: 1 } },
  })
})

describe('rejects anything that a browser may have sent, despite a valid call:', () => {
  test.each<[string, Record<string, string>]>([
    ['Origin', { origin: 'https://evil.example' }],
    ['the Origin of the app itself', { origin: 'http://localhost:3000' }],
    ['an Origin that is null', { origin: 'null' }],
    ['an Origin that is empty', { origin: '' }],
    ['Cookie', { cookie: 'theme=dark' }],
    ['Sec-Fetch-Site', { 'sec-fetch-site': 'same-origin' }],
    ['Sec-Fetch-Site none', { 'sec-fetch-site': 'none' }],
  ])('%s', async (_what, headers) => {
    const request = requestFor(SAVE, await tokenFor(scene, SAVE), { headers })
    expect(await answerTo(request)).toEqual(rejectedWith(403, 'ORIGIN_REJECTED'))
    expect(scene.work.runs).toEqual([])
  })
})

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('rejects %s with 405', async (method) => {
  const headers = { authorization: `Bearer ${await tokenFor(scene, SAVE)}` }
  const response = await scene.node.handler(new Request('http://localhost/internal', { method, headers }))
  expect({ status: response.status, allow: response.headers.get('allow') }).toEqual({
    status: 405,
    allow: 'POST',
  })
  expect(scene.work.runs).toEqual([])
})

describe('the token', () => {
  test.each<[string, string | null]>([
    ['is missing', null],
    ['is empty', ''],
    ['uses another scheme', 'Basic dXNlcjpwYXNz'],
    ['has no scheme', 'token'],
    ['has two parts', 'Bearer a b'],
  ])('is rejected if it %s', async (_what, authorization) => {
    const request = requestFor(SAVE, null, authorization === null ? {} : { headers: { authorization } })
    expect(await answerTo(request)).toEqual(rejectedWith(401, 'TOKEN_MISSING'))
    expect(scene.work.runs).toEqual([])
  })

  test("of a user is rejected, and a service's token is rejected by the public guard", async () => {
    expect(await answerTo(requestFor(SAVE, ada.token))).toEqual(INVALID)
    const token = await tokenFor(scene, SAVE)
    await expect(verifyJwt(token, scene.auth.config)).rejects.toMatchObject({ reason: 'TOKEN_INVALID' })
    const cookie = `${scene.auth.config.cookies.jwt}=${token}`
    const headers = { cookie, origin: 'http://localhost:3000' }
    const response = await scene.auth.handler(
      new Request('http://localhost:3000/api/auth/session', { headers }),
    )
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: 401,
      body: { code: 'TOKEN_INVALID' },
    })
    expect(scene.work.runs).toEqual([])
  })

  test.each<[string, TokenChanges]>([
    ['another function', { path: 'work.nothing' }],
    ['a function in another case', { path: 'report.Save' }],
    ['a query', { type: 'query' }],
    ['another body', { body: bodyOf({ ...SAVE, input: { title: 'Two' } }) }],
    ['the same body with another space', { body: `${bodyOf(SAVE)} ` }],
    ['no body', { body: '' }],
    ['another app', { audience: 'https://other.example.com/internal' }],
    ['users of this app', { audience: 'http://localhost:3000' }],
  ])('is rejected for %s', async (_what, changes) => {
    expect(await send(SAVE, changes)).toEqual(INVALID)
    expect(scene.work.runs).toEqual([])
  })

  test("for a query doesn't authorize a mutation", async () => {
    expect(await send(SAVE, { type: 'query' })).toEqual(INVALID)
    expect(await send({ ...SAVE, type: 'query' })).toEqual(rejectedWith(404, 'FUNCTION_NOT_FOUND'))
    expect(scene.work.runs).toEqual([])
  })

  test('names its key, and is rejected with an unknown key', async () => {
    const [own] = Object(scene.signingKeys).keys
    const [stranger, ofUsers] = [await createSigningKey(), scene.auth.definition.signingKeys.active]
    const token = await tokenFor(scene, SAVE)
    const forgeries = [
      resign(token, stranger, {}),
      resign(token, stranger, { header: { kid: stranger.kid } }),
      resign(token, stranger, { header: { jwk: { ...stranger, d: undefined } } }),
      resign(token, own, { header: { typ: 'at+jwt' } }),
      resign(token, own, { header: { typ: 'JWT' } }),
      resign(token, own, { header: { typ: undefined } }),
      resign(token, own, { header: { alg: 'none' } }),
      resign(token, own, { header: { alg: 'HS256' } }),
      resign(token, own, { header: { alg: 'ES256' } }),
      resign(token, own, { claims: { exp: 9_999_999_999 } }),
      resign(token, own, { claims: { op: 'query' } }),
      `${token}A`,
      token.slice(0, -1),
      `${token.split('.').slice(0, 2).join('.')}.`,
      await tokenFor(scene, SAVE, { key: ofUsers }),
    ]
    for (const forgery of forgeries) expect(await answerTo(requestFor(SAVE, forgery))).toEqual(INVALID)
    expect(scene.work.runs).toEqual([])
    // Each token that our own key signed has used up its id.
    const another = await tokenFor(scene, SAVE)
    expect((await answerTo(requestFor(SAVE, resign(another, own, {})))).status).toBe(200)
  })

  test.each<[string, number, ReturnType<typeof rejectedWith> | 200]>([
    ['is 30 s old', -30, rejectedWith(401, 'TOKEN_EXPIRED')],
    ['is 29 s old', -29, 200],
    ['is from 30 s in the future', 30, 200],
    ['is from 31 s in the future', 31, INVALID],
    ['is from a year in the future', 31_536_000, INVALID],
  ])('is checked for its age when it %s', async (_what, ahead, expected) => {
    const answer = await send(SAVE, { ahead })
    expect(expected === 200 ? answer.status : answer).toEqual(expected)
    expect(scene.work.runs).toHaveLength(expected === 200 ? 1 : 0)
  })

  test("is checked before the body, so unauthenticated callers can't make the server read one", async () => {
    let pulls = 0
    const body = new ReadableStream(
      {
        pull(controller) {
          pulls++
          controller.enqueue(new Uint8Array(1_000))
        },
      },
      { highWaterMark: 0 },
    )
    const init = { method: 'POST', body, duplex: 'half', headers: { authorization: 'Bearer a.b.c' } } as const
    const response = await scene.node.handler(new Request('http://localhost/internal', init))
    expect({ status: response.status, pulls }).toEqual({ status: 401, pulls: 0 })
  })
})

describe('rejects a replayed token', () => {
  test('on this node, another node, and after a restart, whatever the first result was', async () => {
    const token = await tokenFor(scene, SAVE)
    const replay = (node = scene.node) => answerTo(requestFor(SAVE, token), node)
    expect((await replay()).status).toBe(200)
    const replayed = rejectedWith(401, 'TOKEN_REPLAYED')
    expect(await replay()).toEqual(replayed)
    // The same database, opened by another process and by one that has just started.
    expect(await replay(await scene.openNode())).toEqual(replayed)
    expect(await replay(scene.addNode())).toEqual(replayed)
    expect(scene.work.runs).toEqual(['report.save'])
  })

  test('of a query in the process that received it, until it expires', async () => {
    const token = await tokenFor(scene, LIST)
    expect((await answerTo(requestFor(LIST, token))).status).toBe(200)
    expect(await answerTo(requestFor(LIST, token))).toEqual(rejectedWith(401, 'TOKEN_REPLAYED'))
    expect(scene.work.runs).toEqual(['report.list'])
  })

  test('and runs one of many concurrent calls', async () => {
    const other = await scene.openNode()
    for (const call of [SAVE, LIST]) {
      scene.reset()
      const token = await tokenFor(scene, call)
      const nodes = call === SAVE ? [scene.node, other] : [scene.node]
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => answerTo(requestFor(call, token), nodes[i % nodes.length])),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(scene.work.runs).toHaveLength(1)
    }
  })

  test('even with an idempotency key: each attempt needs a separate token', async () => {
    const changes = { idempotencyKey: crypto.randomUUID() }
    const token = await tokenFor(scene, SAVE, changes)
    expect((await answerTo(requestFor(SAVE, token))).status).toBe(200)
    expect(await answerTo(requestFor(SAVE, token))).toEqual(rejectedWith(401, 'TOKEN_REPLAYED'))
    expect((await send(SAVE, changes)).status).toBe(200)
    expect(scene.work.runs).toHaveLength(1)
  })

  test('even if Step 2 rejected the first attempt', async () => {
    const session = await scene.auth.signIn()
    const actor = await verifyJwt(session.token, scene.auth.config)
    await scene.auth.revoke(session)
    const token = await tokenFor(scene, SAVE, { actor })
    expect(await answerTo(requestFor(SAVE, token))).toMatchObject({
      status: 401,
      body: { error: { data: { httpStatus: 401, auth: { reason: 'SESSION_NOT_FOUND' }, rejection: null } } },
    })
    expect(await answerTo(requestFor(SAVE, token))).toEqual(rejectedWith(401, 'TOKEN_REPLAYED'))
  })
})

describe('the body', () => {
  test.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['is invalid JSON', '{'],
    ['is empty', ''],
    ['is a list', '[]'],
    ['is null', 'null'],
    ['has no path', '{"type":"mutation"}'],
    ['has no type', '{"path":"report.save"}'],
    ['has an unknown type', '{"type":"subscription","path":"report.save"}'],
    ["has a path that isn't a string", '{"type":"mutation","path":1}'],
    ['is invalid UTF-8', notUtf8()],
    ['starts with a byte order mark', `\ufeff${bodyOf(SAVE)}`],
  ])('is rejected if it %s', async (_what, body) => {
    const token = await tokenFor(scene, SAVE, { body })
    expect(await answerTo(requestFor(SAVE, token, { body }))).toEqual(rejectedWith(400, 'CALL_INVALID'))
    expect(scene.work.runs).toEqual([])
  })

  test('is rejected if one bit was changed in transit', async () => {
    const bytes = new TextEncoder().encode(bodyOf(SAVE))
    for (let at = 0; at < bytes.length; at += 7) {
      const token = await tokenFor(scene, SAVE)
      const changed = bytes.with(at, (bytes[at] ?? 0) ^ 1)
      const body = new TextDecoder().decode(changed)
      expect(await answerTo(requestFor(SAVE, token, { body }))).toEqual(INVALID)
    }
    expect(scene.work.runs).toEqual([])
  })

  test('is rejected while it is being read if it is too large', async () => {
    const node = scene.addNode({ maxBodyBytes: 1_000 })
    const call = { ...SAVE, input: { title: 'x'.repeat(1_000) } }
    expect(await send(call, {}, node)).toEqual(rejectedWith(413, 'PAYLOAD_TOO_LARGE'))
    let pulls = 0
    const endless = new ReadableStream(
      {
        pull(controller) {
          pulls++
          controller.enqueue(new Uint8Array(500))
        },
      },
      { highWaterMark: 0 },
    )
    const headers = { authorization: `Bearer ${await tokenFor(scene, SAVE)}` }
    const init = { method: 'POST', body: endless, duplex: 'half', headers } as const
    const request = new Request('http://localhost/internal', init)
    expect(await answerTo(request, node)).toEqual(rejectedWith(413, 'PAYLOAD_TOO_LARGE'))
    expect(pulls).toBe(3)
    expect(scene.work.runs).toEqual([])
  })

  test('is rejected if it breaks off', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const headers = { authorization: `Bearer ${await tokenFor(scene, SAVE)}` }
    const init = { method: 'POST', body: broken, duplex: 'half', headers } as const
    const request = new Request('http://localhost/internal', init)
    expect(await answerTo(request)).toEqual(rejectedWith(400, 'CALL_INVALID'))
  })

  test("is not awaited if it doesn't arrive", async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const node = scene.addNode({ timeoutMs: 300, maxConcurrent: 1 })
    const read = Promise.withResolvers<void>()
    const never = new ReadableStream({ pull: () => read.resolve() }, { highWaterMark: 0 })
    const headers = { authorization: `Bearer ${await tokenFor(scene, SAVE)}` }
    const init = { method: 'POST', body: never, duplex: 'half', headers } as const
    const request = new Request('http://localhost/internal', init)
    const answer = answerTo(request, node)
    await read.promise
    vi.advanceTimersByTime(300)
    expect(await answer).toEqual(rejectedWith(503, 'UNDECIDED'))
    expect((await send(LIST, {}, node)).status).toBe(200)
  })

  test('is awaited once per token, so a token holds one place', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const node = scene.addNode({ timeoutMs: 300, maxConcurrent: 2 })
    const token = await tokenFor(scene, SAVE)
    const stalled = () => {
      const headers = { authorization: `Bearer ${token}` }
      const init = { method: 'POST', body: new ReadableStream({}), duplex: 'half', headers } as const
      return answerTo(new Request('http://localhost/internal', init), node)
    }
    // Either may be first, since their signatures are verified concurrently.
    const answers = [stalled(), stalled()]
    expect(await Promise.race(answers)).toEqual(rejectedWith(401, 'TOKEN_REPLAYED'))
    expect((await send(LIST, {}, node)).status).toBe(200)
    vi.advanceTimersByTime(300)
    expect(await Promise.all(answers)).toContainEqual(rejectedWith(503, 'UNDECIDED'))
  })
})

describe('an undecidable call is 503 with Retry-After because of', () => {
  const expectUndecided = async (request: Request, node = scene.node) => {
    const response = await node.handler(request)
    expect({
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.json(),
    }).toEqual({ status: 503, retryAfter: '1', body: rejectedBody(503, 'UNDECIDED') })
    expect(scene.work.runs).toEqual([])
  }

  test('Step 2 of the acting user', async () => {
    const actor = await verifyJwt(ada.token, scene.auth.config)
    scene.store.answer = () => Promise.reject(new Error('The database is gone'))
    const node = scene.addNode()
    await expectUndecided(requestFor(SAVE, await tokenFor(scene, SAVE, { actor })), node)
    expect(node.errors).toEqual([new Error('The database is gone')])
  })

  test('the keys of services', async () => {
    const serviceJwks = { ...scene.serviceJwks, findKey: () => Promise.reject(new Error('offline')) }
    await expectUndecided(requestFor(SAVE, await tokenFor(scene, SAVE)), scene.addNode({}, { serviceJwks }))
  })

  test('the check whether a token was used before', async () => {
    const gone = await createInternalScene(directory)
    await gone.close()
    await expectUndecided(requestFor(SAVE, await tokenFor(gone, SAVE)), gone.node)
    expect(gone.work.runs).toEqual([])
  })

  test('too many concurrent calls', async () => {
    const node = scene.addNode({ maxConcurrent: 1 })
    holdWork(scene.work)
    const wait = send({ type: 'query', path: 'work.wait' }, {}, node)
    await soon(() => expect(scene.work.runs).toHaveLength(1))
    scene.work.runs.length = 0
    await expectUndecided(requestFor(LIST, await tokenFor(scene, LIST)), node)
    scene.work.finish()
    expect((await wait).status).toBe(200)
    expect((await send(LIST, {}, node)).status).toBe(200)
  })
})

test("callers without a key don't use up concurrent calls", async () => {
  const node = scene.addNode({ maxConcurrent: 1 })
  const token = await tokenFor(scene, LIST)
  const flood = Array.from({ length: 50 }, (_, index) =>
    answerTo(requestFor(LIST, `${token.slice(0, -8)}AAAA${String(index).padStart(4, 'A')}`), node),
  )
  expect((await send(LIST, {}, node)).status).toBe(200)
  expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set([401]))
})

test("an onFailure that throws doesn't change the response", async () => {
  const onFailure = () => {
    throw new Error('of the app')
  }
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => printed.mockRestore())
  const serviceJwks = { ...scene.serviceJwks, findKey: () => Promise.reject(new Error('offline')) }
  const functions = { ...scene.node.functions, config: { ...scene.auth.config, onFailure } }
  const handler = createInternalHandler(functions, { serviceJwks })
  const response = await handler(requestFor(LIST, await tokenFor(scene, LIST)))
  expect(response.status).toBe(503)
  await soon(() =>
    expect(printed).toHaveBeenCalledWith(
      'onFailure failed:',
      expect.any(Error),
      expect.objectContaining({ step: 'procedure' }),
    ),
  )
})

test("a caller's disconnect is not reported as an error", async () => {
  holdWork(scene.work)
  const left = new AbortController()
  const call: SentCall = { type: 'query', path: 'work.wait' }
  const request = new Request(requestFor(call, await tokenFor(scene, call)), { signal: left.signal })
  const answer = scene.node.handler(request)
  await soon(() => expect(scene.work.runs).toHaveLength(1))
  left.abort()
  expect((await answer).status).toBe(503)
  expect(scene.work.signal?.aborted).toBe(true)
  expect(scene.node.errors).toEqual([])
})

describe('the status matches the outcome', () => {
  test.each([
    ['trpc', 412],
    ['unknown', 500],
    ['auth', 403],
    ['limited', 429],
    ['endpoint', 400],
    ['configuration', 500],
  ])('%s: %d', async (input, status) => {
    expect(await send({ type: 'mutation', path: 'work.fail', input })).toMatchObject({
      status,
      body: { error: { data: { httpStatus: status, rejection: null } } },
    })
  })
})

describe('rejects service keys that also sign for users', () => {
  const ofUsers = () => scene.auth.config.issuers[0].jwks

  test('at startup', async () => {
    const [own] = Object(scene.signingKeys).keys
    expect(() => scene.addNode({}, { serviceJwks: ofUsers() })).toThrow(
      /^SERVICE_JWKS: the key \S+ verifies JWTs/,
    )
    const mixed = staticJwks({
      keys: [
        ...parseSigningKeys({ keys: [own] }).publicJwks.keys,
        ...scene.auth.definition.signingKeys.publicJwks.keys,
      ],
    })
    expect(() => scene.addNode({}, { serviceJwks: mixed })).toThrow(/^SERVICE_JWKS/)
  })

  test('and when they appear later, before anything runs', async () => {
    let keys: 'own' | 'shared' = 'own'
    const serviceJwks = {
      ...scene.serviceJwks,
      get version() {
        return keys === 'own' ? 1 : 2
      },
      keys: () => (keys === 'own' ? scene.serviceJwks : ofUsers()).keys(),
    }
    const node = scene.addNode({}, { serviceJwks })
    expect((await send(SAVE, {}, node)).status).toBe(200)
    keys = 'shared'
    for (let i = 0; i < 2; i++) expect(await send(SAVE, {}, node)).toEqual(rejectedWith(503, 'UNDECIDED'))
    expect(node.errors).toMatchObject([{ name: 'ConfigurationError' }])
    expect(scene.work.runs).toHaveLength(1)
  })
})

describe('with keys by service', async () => {
  const keysOf = async () => parseSigningKeys({ keys: [await createSigningKey()] })
  const [edge, reports] = [await keysOf(), await keysOf()]
  const serviceJwks = { edge: staticJwks(edge.publicJwks), reports: staticJwks(reports.publicJwks) }
  const handler = (request: Request) => createInternalHandler(scene.node.functions, { serviceJwks })(request)
  const sendAs = async (service: string, key = edge.active, changes: TokenChanges = {}) =>
    answerTo(requestFor(SAVE, await tokenFor(scene, SAVE, { ...changes, service, key })), {
      ...scene.node,
      handler,
    })

  test('each service is identified by its name', async () => {
    expect((await sendAs('edge')).status).toBe(200)
    expect((await sendAs('reports', reports.active)).status).toBe(200)
  })

  test.each([
    ['the name of another service', 'edge', reports.active],
    ['an undeclared name', 'billing', edge.active],
    ['a name that every object has', 'constructor', edge.active],
  ])('rejects a token with %s', async (_what, service, key) => {
    expect(await sendAs(service, key)).toEqual(INVALID)
    expect(scene.work.runs).toEqual([])
  })

  test("no service gets another's result for the same idempotency key", async () => {
    const changes = { idempotencyKey: crypto.randomUUID() }
    const first = await sendAs('edge', edge.active, changes)
    const other = await sendAs('reports', reports.active, changes)
    expect([first.status, other.status, scene.work.runs.length]).toEqual([200, 200, 2])
    expect(other.body).not.toEqual(first.body)
    expect(await sendAs('edge', edge.active, changes)).toEqual(first)
  })

  test('a key of two services causes an error at startup', () => {
    const shared = staticJwks(edge.publicJwks)
    const create = () =>
      createInternalHandler(scene.node.functions, { serviceJwks: { edge: shared, reports: shared } })
    expect(create).toThrow('two services have the same key')
  })
})
