import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AuthFailure,
  ConfigurationError,
  type DynamicJwksOptions,
  defineAuthConfig,
  dynamicJwks,
  isAuthError,
  type KeySet,
  verifyJwt,
} from '@sallyport/core'
import { defineAuth, issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { MAX_PAYLOAD_BYTES } from '@sallyport/core/internal/protocol'
import { isKeyTrusted } from '@sallyport/core/internal/server'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { toPublicJwk } from '../../src/keys/key-ring.ts'
import type { PrivateJwk } from '../../src/keys/policy.ts'
import { failures, type JwksServer, startJwksServer } from '../support/jwks-server.ts'
import { messageOf } from '../support/message-of.ts'
import { reasonOf } from '../support/reason-of.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const [a, b, c, ec] = await Promise.all([
  createSigningKey(),
  createSigningKey(),
  createSigningKey(),
  createSigningKey('ES256'),
])

/** Returns what the endpoint publishes for these keys. */
function publish(keys: readonly PrivateJwk[], more: object = {}): string {
  return JSON.stringify({ keys: keys.map(toPublicJwk), ...more })
}

const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)
process.on('unhandledRejection', note)
afterAll(async () => {
  await sleep(0)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

/** A key set fetched from a separate server, with a clock that tests advance. */
interface Scene {
  readonly server: JwksServer
  readonly keySet: KeySet
  /** Receives failures. */
  readonly errors: readonly unknown[]
  /** The clock time at the start of each fetch. */
  readonly fetches: readonly number[]
  now(): number
  advance(ms: number): void
}

async function setScene(answer: JwksServer['answer'], options: DynamicJwksOptions = {}): Promise<Scene> {
  const server = await startJwksServer(answer)
  const [errors, fetches]: [unknown[], number[]] = [[], []]
  let time = 0
  const keySet = dynamicJwks(server.url, {
    now: () => time,
    timeoutMs: 30_000,
    fetch(url, init) {
      fetches.push(time)
      expect(init).toMatchObject({ redirect: 'manual', cache: 'no-store' })
      return fetch(url, init)
    },
    ...options,
  })
  keySet.failures?.follow((failure) => failure && errors.push(failure.cause))
  return {
    server,
    keySet,
    errors,
    fetches,
    now: () => time,
    advance(ms) {
      time += ms
    },
  }
}

/** Creates a scene in which key `a` has been fetched. */
async function setWarmScene(options: DynamicJwksOptions = {}): Promise<Scene> {
  const scene = await setScene(publish([a]), options)
  const find = async () => expect(await lookUp(scene, a.kid)).toBe(a.kid)
  if (options.timeoutMs === undefined) await find()
  // A busy machine may need several fetches.
  else await soon(() => find().finally(() => scene.advance(MINUTE)))
  return scene
}

const soon = (expectation: () => unknown) => vi.waitFor(expectation, { interval: 1, timeout: 30_000 })

/** Returns the result of a lookup: the key's id, `unknown`, or the reason of a rejection. */
async function lookUp({ keySet }: Pick<Scene, 'keySet'>, kid: string): Promise<string> {
  try {
    return (await keySet.findKey(kid))?.kid ?? 'unknown'
  } catch (error) {
    if (isAuthError(error)) return error.reason
    throw error
  }
}

describe('the URL', () => {
  test.each([
    'https://app.example.com/api/auth/jwks',
    'http://localhost:3000/api/auth/jwks',
    'http://127.0.0.1/jwks',
    'http://127.1.2.3/jwks',
    'http://[::1]:8080/jwks',
  ])('accepts %s, and fetches nothing before a key is needed', (url) => {
    const fetch = vi.fn<(url: string) => Promise<Response>>()
    expect(messageOf(() => dynamicJwks(url, { fetch }))).toBe('accepted')
    expect(fetch).not.toHaveBeenCalled()
  })

  test.each([
    'http://app.example.com/jwks',
    'http://localhost.example.com/jwks',
    'http://127.0.0.1.example.com/jwks',
    'http://127.example.com/jwks',
    'http://0.0.0.0/jwks',
    'http://10.0.0.1/jwks',
    'http://[::2]/jwks',
    'http://[::ffff:127.0.0.1]/jwks',
    'ftp://localhost/jwks',
    'file:///jwks.json',
    'data:application/json,{}',
    'localhost:3000/jwks',
    '/jwks',
    '',
  ])('rejects %j: neither https nor on this machine', (url) => {
    expect(() => dynamicJwks(url)).toThrow(ConfigurationError)
  })
})

describe('the first request waits for the keys', () => {
  test('200 concurrent requests wait for one fetch', async () => {
    const scene = await setScene(publish([a, ec]))
    const kids = await Promise.all(
      Array.from({ length: 200 }, (_, i) => lookUp(scene, i % 2 === 0 ? a.kid : ec.kid)),
    )
    expect(new Set(kids)).toEqual(new Set([a.kid, ec.kid]))
    expect(scene.server.requests).toBe(1)
  })

  test('200 concurrent requests to an unreachable endpoint fail after one attempt', async () => {
    const scene = await setScene(publish([a]))
    await scene.server.reject()
    const reasons = await Promise.all(Array.from({ length: 200 }, () => lookUp(scene, a.kid)))
    expect(new Set(reasons)).toEqual(new Set(['KEYS_UNAVAILABLE']))
    expect(scene.fetches).toHaveLength(1)
    expect(scene.errors).toHaveLength(1)
  })

  test("later requests don't wait", async () => {
    const scene = await setWarmScene()
    expect(scene.keySet.findKey(a.kid)).toMatchObject({ kid: a.kid, alg: 'Ed25519' })
    expect(scene.server.requests).toBe(1)
  })

  test('a call during the pause gets the cause of the failed fetch', async () => {
    const scene = await setScene((_request, response) => void response.writeHead(500).end())
    const find = async () => scene.keySet.findKey(a.kid)
    const cause = await find().catch((error: Error) => error.cause)
    expect(cause).toBeInstanceOf(Error)
    await expect(find()).rejects.toMatchObject({ cause })
    expect(scene.fetches).toHaveLength(1)
  })

  test('an issuer that recovers says nothing about another', async () => {
    const onFailure = vi.fn<(failure: AuthFailure) => void>()
    const [own, other] = await Promise.all([setScene('down'), setScene('down')])
    const jwks = other.keySet
    const claims = { userId: 'sub', sessionId: 'sid' }
    const issuer = { issuer: 'https://id.example.com', audience: 'app', typ: 'JWT', jwks, claims }
    const baseUrl = 'https://app.example.com'
    defineAuthConfig({ baseUrl, jwks: own.keySet, bearer: true, trustedIssuers: [issuer], onFailure })
    for (const scene of [own, other]) expect(await lookUp(scene, a.kid)).toBe('KEYS_UNAVAILABLE')
    other.server.answer = publish([a])
    other.advance(MINUTE)
    expect(await lookUp(other, a.kid)).toBe(a.kid)
    const place = { code: 'KEYS_UNAVAILABLE', path: 'keys of https://id.example.com' }
    await soon(() => expect(onFailure).toHaveBeenCalledTimes(3))
    expect(onFailure.mock.calls).toMatchObject([
      [{ path: 'keys', recovered: false }],
      [{ ...place, cause: expect.any(Error), recovered: false }],
      [{ ...place, recovered: true }],
    ])
  })

  test('the error says how long keys are unavailable, and no fetch happens before then', async () => {
    const scene = await setScene((_request, response) => void response.writeHead(500).end())
    for (let failures = 1; failures <= 12; failures++) {
      const error: unknown = await Promise.resolve(scene.keySet.findKey(a.kid)).catch(
        (cause: unknown) => cause,
      )
      if (!isAuthError(error)) throw new TypeError('A rejection was expected')
      const { reason, retryAfterSeconds, cause } = error
      expect({ reason, cause: cause instanceof Error }).toEqual({ reason: 'KEYS_UNAVAILABLE', cause: true })
      expect(retryAfterSeconds).toBeGreaterThanOrEqual(1)
      expect(retryAfterSeconds).toBeLessThanOrEqual(30)
      expect(await lookUp(scene, a.kid)).toBe('KEYS_UNAVAILABLE')
      expect(scene.fetches).toHaveLength(failures)
      scene.advance((retryAfterSeconds ?? 0) * SECOND)
    }
    scene.server.answer = publish([a])
    expect(await lookUp(scene, a.kid)).toBe(a.kid)
  })

  test('a server whose own keys are dynamic starts while they are unavailable', async () => {
    const scene = await setScene(publish([a]))
    await scene.server.reject()
    const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: scene.keySet })
    defineAuth({ config, signingKeys: { keys: [a] } })
    await soon(() => expect(scene.errors).toHaveLength(1))
    await sleep(0)
    expect(unhandled).toEqual([])
  })
})

describe('refreshes the set in the background', () => {
  test('not within five minutes, and with the first request after them', async () => {
    const scene = await setWarmScene()
    scene.server.answer = publish([a, b])
    scene.advance(5 * MINUTE)
    expect(await lookUp(scene, a.kid)).toBe(a.kid)
    expect(scene.fetches).toHaveLength(1)
    scene.advance(1)
    expect(scene.keySet.findKey(a.kid)).toMatchObject({ kid: a.kid })
    await soon(() => expect(scene.keySet.status(b.kid)).toBe('known'))
    expect(scene.fetches).toEqual([0, 5 * MINUTE + 1])
  })

  test('without delaying requests: not the one that starts it, or later ones', async () => {
    const scene = await setWarmScene()
    let finish = () => {}
    scene.server.answer = (_request, response) => {
      finish = () => void response.end(publish([b]))
    }
    scene.advance(6 * MINUTE)
    for (let i = 0; i < 100; i++) expect(scene.keySet.findKey(a.kid)).toMatchObject({ kid: a.kid })
    await soon(() => expect(scene.server.requests).toBe(2))
    expect(scene.keySet.findKey(a.kid)).toMatchObject({ kid: a.kid })
    finish()
    await soon(() => expect(scene.keySet.status(b.kid)).toBe('known'))
    expect(scene.keySet.status(a.kid)).toBe('gone')
    expect(scene.fetches).toHaveLength(2)
  })

  test('and calls listeners only if the set changed', async () => {
    const scene = await setWarmScene()
    const versions: number[] = []
    scene.keySet.subscribe(() => versions.push(scene.keySet.version))
    const before = scene.keySet.version
    const reordered = Object.fromEntries(Object.entries(toPublicJwk(b)).reverse())
    for (const answer of [
      publish([a]),
      publish([a, b]),
      publish([b]),
      JSON.stringify({ keys: [reordered] }),
    ]) {
      scene.server.answer = answer
      scene.advance(5 * MINUTE + 1)
      // Waits for the fetch, unlike the lookup of a known key.
      expect(await lookUp(scene, 'made up')).toBe('unknown')
    }
    expect(versions).toEqual([before + 1, before + 2])
  })
})

describe('while the endpoint fails', () => {
  const failing: RequestListener = (_request, response) => void response.writeHead(503).end()

  test('a set is used for a day, and no longer', async () => {
    const scene = await setWarmScene()
    scene.server.answer = failing
    for (const hour of [1, 12, 23, 24]) {
      scene.advance(hour * HOUR - scene.now())
      expect([hour, await lookUp(scene, a.kid)]).toEqual([hour, a.kid])
      await soon(() => expect(scene.errors).toHaveLength(scene.fetches.length - 1))
    }
    scene.advance(30 * SECOND)
    expect(await lookUp(scene, a.kid)).toBe('KEYS_UNAVAILABLE')
    scene.server.answer = publish([a])
    scene.advance(30 * SECOND)
    expect(await lookUp(scene, a.kid)).toBe(a.kid)
  })

  test('retries after pauses of 1 to 30 seconds that grow and vary', async () => {
    const scene = await setWarmScene()
    scene.server.answer = failing
    scene.advance(5 * MINUTE)
    const end = scene.now() + 20 * MINUTE
    for (; scene.now() < end; scene.advance(100)) {
      expect(scene.keySet.findKey(a.kid)).toMatchObject({ kid: a.kid })
      if (scene.errors.length < scene.fetches.length - 1)
        await soon(() => expect(scene.errors).toHaveLength(scene.fetches.length - 1))
    }
    const [, ...attempts] = scene.fetches
    const pauses = attempts.slice(1).map((time, i) => time - (attempts[i] ?? 0))
    const longest = [1.5, 2, 4, 8, 16].map((seconds) => seconds * SECOND)
    pauses.forEach((pause, i) => {
      const limit = longest[i] ?? 30 * SECOND
      // The clock advances in steps of 100 ms.
      expect(pause).toBeGreaterThanOrEqual(Math.max(SECOND, limit / 2))
      expect(pause).toBeLessThanOrEqual(limit + 100)
    })
    expect(pauses.length).toBeGreaterThanOrEqual(20 * 2)
    expect(pauses.length).toBeLessThanOrEqual(20 * 4 + 5)
    expect(new Set(pauses.slice(5)).size).toBeGreaterThan(10)
  })
})

describe("a key that isn't in the set", () => {
  test('causes one fetch in 30 seconds, however many kids are made up', async () => {
    const scene = await setWarmScene()
    for (let i = 0; scene.now() < 120 * SECOND; i++, scene.advance(100)) {
      expect(await lookUp(scene, `made up ${i}`)).toBe('unknown')
    }
    expect(scene.fetches).toEqual([0, 0, 30 * SECOND, 60 * SECOND, 90 * SECOND])
  })

  test('is rejected at once within those 30 seconds, and 200 concurrent lookups wait for one fetch', async () => {
    const scene = await setWarmScene()
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => lookUp(scene, `made up ${i}`)))
    expect(new Set(answers)).toEqual(new Set(['unknown']))
    expect(scene.fetches).toHaveLength(2)
    expect(scene.keySet.findKey('made up')).toBeUndefined()
  })

  test('is found if it was published meanwhile', async () => {
    const scene = await setWarmScene()
    scene.server.answer = publish([a, b])
    expect(await lookUp(scene, b.kid)).toBe(b.kid)
    expect(scene.fetches).toHaveLength(2)
  })

  test('is found by all concurrent lookups, which share one fetch', async () => {
    const scene = await setWarmScene()
    scene.server.answer = publish([a, b])
    const answers = await Promise.all(Array.from({ length: 200 }, () => lookUp(scene, b.kid)))
    expect(new Set(answers)).toEqual(new Set([b.kid]))
    expect(scene.fetches).toHaveLength(2)
  })

  test('is KEYS_UNAVAILABLE while the endpoint fails', async () => {
    const scene = await setWarmScene()
    await scene.server.reject()
    expect(await lookUp(scene, b.kid)).toBe('KEYS_UNAVAILABLE')
    scene.advance(10 * SECOND)
    expect(await lookUp(scene, b.kid)).toBe('KEYS_UNAVAILABLE')
    expect(await lookUp(scene, a.kid)).toBe(a.kid)
    expect(scene.fetches).toHaveLength(2)
    scene.server.answer = publish([a, b])
    await scene.server.listen()
    scene.advance(20 * SECOND)
    expect(await lookUp(scene, b.kid)).toBe(b.kid)
    expect(await lookUp(scene, c.kid)).toBe('unknown')
  })
})

describe('drops a set that breaks the policy, and keeps the earlier one', () => {
  const key = toPublicJwk(b)
  test.each<[string, object]>([
    ['no key', { keys: [] }],
    ['21 keys', { keys: Array.from({ length: 21 }, (_, i) => ({ ...key, kid: `k${i}` })) }],
    ['a private key', { keys: [b] }],
    ['a shared secret', { keys: [{ kty: 'oct', alg: 'HS256', kid: 'k', k: 'AAAA' }] }],
    ['two keys with one id', { keys: [key, key] }],
    ['a key without an algorithm', { keys: [{ ...key, alg: undefined }] }],
    ['a key for encryption', { keys: [{ ...key, use: 'enc' }] }],
    ["an algorithm that isn't allowed", { keys: [{ ...toPublicJwk(ec), alg: 'ES384', crv: 'P-384' }] }],
    ["a point that isn't on its curve", { keys: [key, { ...toPublicJwk(ec), x: `${'A'.repeat(42)}E` }] }],
  ])('%s', async (_name, jwks) => {
    const scene = await setWarmScene()
    const { version } = scene.keySet
    scene.server.answer = JSON.stringify(jwks)
    scene.advance(6 * MINUTE)
    expect(await lookUp(scene, a.kid)).toBe(a.kid)
    await soon(() => expect(scene.errors).toHaveLength(1))
    expect(await lookUp(scene, a.kid)).toBe(a.kid)
    expect(scene.keySet.status(b.kid)).toBe('gone')
    expect(scene.keySet.version).toBe(version)
  })

  test('accepts 20 keys', async () => {
    const keys = Array.from({ length: 20 }, (_, i) => ({ ...a, kid: `k${i}` }))
    expect(await lookUp(await setScene(publish(keys)), 'k19')).toBe('k19')
  })
})

describe('accepts only a valid response', () => {
  const set = publish([a])
  const padded = (bytes: number) => set + ' '.repeat(bytes - set.length)
  const reply =
    (status: number, headers = {}): RequestListener =>
    (_request, response) =>
      void response.writeHead(status, headers).end(set)

  test.each<[string, JwksServer['answer'], string]>([
    ['status 200', reply(200), a.kid],
    ['any content type', reply(200, { 'content-type': 'text/plain' }), a.kid],
    ['64 KB', padded(MAX_PAYLOAD_BYTES), a.kid],
    ['one byte too many', padded(MAX_PAYLOAD_BYTES + 1), 'KEYS_UNAVAILABLE'],
    ['a byte order mark', `\uFEFF${set}`, a.kid],
    ['status 201', reply(201), 'KEYS_UNAVAILABLE'],
    ['status 304', reply(304), 'KEYS_UNAVAILABLE'],
    ['status 404', reply(404), 'KEYS_UNAVAILABLE'],
  ])('%s', async (_name, answer, expected) => {
    expect(await lookUp(await setScene(answer), a.kid)).toBe(expected)
  })

  test.each([301, 302, 303, 307, 308])("doesn't follow a redirect with %i", async (status) => {
    const elsewhere = await startJwksServer(publish([b]))
    const scene = await setScene(reply(status, { location: elsewhere.url }))
    expect(await lookUp(scene, b.kid)).toBe('KEYS_UNAVAILABLE')
    expect([scene.server.requests, elsewhere.requests]).toEqual([1, 0])
  })
})

describe('whatever the endpoint does, tokens of known keys are accepted, and afterwards new keys are found', () => {
  const set = publish([a, b])
  const privateSet = JSON.stringify({ keys: [a, b] })

  test.each<[string, JwksServer['answer'] | null]>([
    ['cannot be reached', null],
    ...Object.entries(failures(set, privateSet)),
  ])('%s', async (failure, answer) => {
    // Each fetch takes this long if no response comes.
    const isSlow = failure === 'never answers' || failure === 'sends one byte a second'
    const scene = await setWarmScene(isSlow ? { timeoutMs: 50 } : {})
    const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: scene.keySet })
    const { active } = parseSigningKeys({ keys: [a] })
    const session = { id: 's1', userId: 'ada', expiresAt: new Date(8.64e15) }
    const verify = async () =>
      reasonOf(verifyJwt((await issueJwt(session, { key: active, config })).token, config))

    if (answer === null) await scene.server.reject()
    else scene.server.answer = answer
    const reasons = new Map<string, number>()
    const steps = isSlow ? 23 : 46
    for (let step = 0; step < steps; step++) {
      scene.advance((23 * HOUR) / steps)
      const { length } = scene.fetches
      for (const reason of await Promise.all(Array.from({ length: 5 }, verify)))
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
      expect(scene.fetches).toHaveLength(length + 1)
      await soon(() => expect(scene.errors).toHaveLength(length))
    }
    expect(Object.fromEntries(reasons)).toEqual({ accepted: steps * 5 })

    scene.server.answer = set
    await scene.server.listen()
    const findNew = async () => {
      scene.advance(30 * SECOND)
      expect(await lookUp(scene, b.kid)).toBe(b.kid)
    }
    await (isSlow ? soon(findNew) : findNew())
    expect(await verify()).toBe('accepted')
  })
})

describe('a key that the endpoint names as revoked', () => {
  test('is invalid, causes no fetch, and calls the listeners', async () => {
    const scene = await setWarmScene()
    let calls = 0
    scene.keySet.subscribe(() => calls++)
    scene.server.answer = publish([b], { revoked: [a.kid] })
    scene.advance(6 * MINUTE)
    await lookUp(scene, a.kid)
    await soon(() => expect(scene.keySet.status(a.kid)).toBe('revoked'))
    expect(calls).toBe(1)
    expect(scene.keySet.findKey(a.kid)).toBeUndefined()
    expect(scene.fetches).toHaveLength(2)
    expect(await lookUp(scene, b.kid)).toBe(b.kid)
  })

  test('ends calls and streams whose token needs no verification anymore', async () => {
    const scene = await setWarmScene()
    const config = defineAuthConfig({ baseUrl: 'https://app.example.com', jwks: scene.keySet })
    const session = { id: 's', userId: 'u', expiresAt: new Date(Date.now() + HOUR) }
    const { active } = parseSigningKeys({ keys: [a] })
    const { token } = await issueJwt(session, { key: active, config })
    const identity = await verifyJwt(token, config)
    scene.server.answer = publish([b], { revoked: [a.kid] })
    scene.advance(6 * MINUTE)
    await soon(() => expect(isKeyTrusted(identity, config)).toBe(false))
    expect(await reasonOf(verifyJwt(token, config))).toBe('TOKEN_INVALID')
  })

  test('is invalid although it is still among the keys', async () => {
    const scene = await setScene(publish([a, b], { revoked: [a.kid] }))
    expect(await lookUp(scene, a.kid)).toBe('unknown')
    expect(scene.keySet.status(a.kid)).toBe('revoked')
  })
})

describe('a health check', () => {
  const stateOf = ({ keySet }: Scene) => reasonOf(keySet.ready())

  test('fetches if there are no keys yet, and reports if they are unavailable', async () => {
    const scene = await setScene(publish([a]))
    await scene.server.reject()
    expect(await stateOf(scene)).toBe('KEYS_UNAVAILABLE')
    await scene.server.listen()
    scene.advance(30 * SECOND)
    expect(await stateOf(scene)).toBe('accepted')
    expect(scene.keySet.findKey(a.kid)).toMatchObject({ kid: a.kid })
  })

  test('causes no fetch if there are keys, and none is spent on an unknown key', async () => {
    const scene = await setWarmScene()
    scene.server.answer = publish([a, b])
    for (let i = 0; i < 100; i++) expect(await stateOf(scene)).toBe('accepted')
    expect(scene.fetches).toHaveLength(1)
    expect(await lookUp(scene, b.kid)).toBe(b.kid)
  })
})

test('requests JSON, and sends no credentials', async () => {
  const headers: object[] = []
  const scene = await setScene((request, response) => {
    headers.push(request.headers)
    response.end(publish([a]))
  })
  await lookUp(scene, a.kid)
  expect(headers).toEqual([expect.objectContaining({ accept: 'application/json' })])
  for (const name of ['cookie', 'authorization', 'referer', 'origin'])
    expect(headers[0]).not.toHaveProperty(name)
})

test('a system clock that is set back delays no fetch', async () => {
  const server = await startJwksServer(publish([a]))
  await server.reject()
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const keySet = dynamicJwks(server.url)
  expect(await lookUp({ keySet }, a.kid)).toBe('KEYS_UNAVAILABLE')
  await server.listen()
  vi.setSystemTime(Date.now() - HOUR)
  await soon(async () => expect(await lookUp({ keySet }, a.kid)).toBe(a.kid))
})

test('a system clock that is set back keeps neither an old set nor an unknown key', async () => {
  const scene = await setWarmScene()
  expect(await lookUp(scene, b.kid)).toBe('unknown')
  scene.server.answer = publish([a, b])
  scene.advance(-HOUR)
  expect(await lookUp(scene, b.kid)).toBe(b.kid)
  scene.server.answer = publish([b], { revoked: [a.kid] })
  scene.advance(-HOUR)
  await soon(() => expect(scene.keySet.status(a.kid)).toBe('revoked'))
})

test('keys age while the process is suspended', async () => {
  const server = await startJwksServer(publish([a]))
  // AWS Lambda suspends the monotonic clock between two calls.
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const keySet = dynamicJwks(server.url)
  expect(await lookUp({ keySet }, a.kid)).toBe(a.kid)
  server.answer = publish([b], { revoked: [a.kid] })
  vi.setSystemTime(Date.now() + 6 * MINUTE)
  await soon(() => expect(keySet.status(a.kid)).toBe('revoked'))
})

test('without options, uses the fetch and the clock of the runtime', async () => {
  const server = await startJwksServer(publish([a]))
  const keySet = dynamicJwks(server.url)
  expect(await keySet.findKey(a.kid)).toMatchObject({ kid: a.kid })
  await keySet.ready()
  expect(server.requests).toBe(1)
})

test.each<[string, JwksServer['answer'], string]>([
  ['a page', '<!doctype html>', ' is not JSON.'],
  ['no keys', '{"keys":[]}', ' has no keys.'],
  ['a status', (_request, response) => void response.writeHead(502).end(), ': status 502'],
])('the cause of a failure names the URL, not a variable of this server: %s', async (_name, answer, text) => {
  const { keySet, server } = await setScene(answer)
  await keySet.ready().catch(() => {})
  expect(keySet.failures?.current).toMatchObject({ cause: { message: server.url + text } })
})

test('a failure is reported with its code and its cause, and as over when a fetch succeeds', async () => {
  const scene = await setScene(publish([{ ...a, kid: '' }]))
  const seen: unknown[] = []
  scene.keySet.failures?.follow((failure, last) => seen.push([failure?.code ?? 'over', last.code]))
  expect(await lookUp(scene, a.kid)).toBe('KEYS_UNAVAILABLE')
  expect(scene.keySet.failures?.current).toMatchObject({
    code: 'KEYS_UNAVAILABLE',
    cause: { message: `${scene.server.url}: keys[0].kid must be 1 to 128 printable characters` },
  })
  scene.server.answer = publish([a])
  scene.advance(MINUTE)
  expect(await lookUp(scene, a.kid)).toBe(a.kid)
  expect(scene.keySet.failures?.current).toBeNull()
  expect(seen).toEqual([
    ['KEYS_UNAVAILABLE', 'KEYS_UNAVAILABLE'],
    ['over', 'KEYS_UNAVAILABLE'],
  ])
})
