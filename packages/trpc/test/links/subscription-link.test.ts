import { bearer, subscriptionLink } from '@sallyport/trpc/client'
import { EventSource } from 'eventsource'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { followNumbers } from '../support/follow-numbers.ts'
import { openClient, openSignedIn } from '../support/open-client.ts'
import { PATHS, startServer } from '../support/start-server.ts'

const server = await startServer({ bearer: true })
const ada = await server.auth.createUser()
// The shortest delays.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => {
  vi.restoreAllMocks()
  return server.clear()
})
afterAll(() => server.close())

const signedIn = () => openSignedIn(server, ada)

test.each([
  { answer: 'a page of a proxy', intercept: async () => new Response('<html>', { status: 502 }) },
  { answer: 'nothing', intercept: () => Promise.reject(new TypeError('fetch failed')) },
])('a stream whose response is $answer is requested again', async ({ intercept }) => {
  const scene = await signedIn()
  scene.intercept = (path) => (path === 'numbers' ? intercept() : undefined)
  const stream = followNumbers(scene.connect('subscriptionLink'))
  await eventually(() => expect(stream.states.at(-1)).toMatch(/^connecting: /))
  expect(stream.ended()).toBeNull()
  scene.intercept = () => undefined
  server.stage.count(1)
  await eventually(() => expect(stream.values).toEqual([1]))
  expect(stream.states.at(-1)).toBe('pending')
})

test('each connection uses fresh cookies', async () => {
  const session = await server.auth.signIn(ada)
  const hydrate = { status: 'authenticated', ...session, expiresIn: 0 } as const
  const scene = openClient(server, await server.auth.expireJwt(session), { hydrate })
  const stream = followNumbers(scene.connect('subscriptionLink'))
  server.stage.count(1)
  await eventually(() => expect(stream.values).toEqual([1]))
  expect(scene.requests).toEqual(['token', 'numbers'])
})

test("the page's EventSource sends its cookies to another site", () => {
  const opened: unknown[] = []
  const PageSource: unknown = class {
    readonly readyState = 0
    readonly CLOSED = 2
    constructor(url: string, init: object) {
      opened.push({
        url: url.replace(/\?.*/, ''),
        withCredentials: 'withCredentials' in init && init.withCredentials,
      })
    }
    addEventListener() {}
    close() {}
  }
  const scene = openClient(server)
  const link = subscriptionLink(scene.authClient, {
    url: 'https://api.example.com/trpc',
    EventSource: PageSource as typeof EventSource,
  })
  followNumbers(scene.connectOver(link))
  return eventually(() =>
    expect(opened).toEqual([{ url: 'https://api.example.com/trpc/numbers', withCredentials: true }]),
  )
})

test('with bearer transport, the token is in a header, and never in the URL', async () => {
  const session = await server.auth.signIn(ada)
  const kept = new Map<string, string>()
  const storage = {
    getItem: (key: string) => kept.get(key),
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  }
  const { token, sessionCookie, userId, sessionId } = session
  const receipt = { userId, sessionId, expiresIn: 900, seq: Date.now(), token, sessionToken: sessionCookie }
  kept.set(`sallyport http://${server.host}`, JSON.stringify(receipt))
  const urls: string[] = []
  class RecordedSource extends EventSource {
    constructor(...[url, init]: ConstructorParameters<typeof EventSource>) {
      urls.push(String(url))
      super(url, init)
    }
  }
  const scene = openClient(server, undefined, { transport: bearer(storage) })
  const url = `http://${server.host}${PATHS.node}`
  const stream = followNumbers(
    scene.connectOver(subscriptionLink(scene.authClient, { url, EventSource: RecordedSource })),
  )
  server.stage.count(1)
  await eventually(() => expect(stream.values).toEqual([1]))
  expect(urls).toHaveLength(1)
  expect(urls[0]).not.toContain(token)
  expect(scene.jar.size).toBe(0)
})

test('bearer transport requires an EventSource that accepts a fetch', () => {
  const storage = { getItem: () => null, setItem() {}, removeItem() {} }
  const { authClient } = openClient(server, undefined, { transport: bearer(storage) })
  expect(() => subscriptionLink(authClient, { url: '/trpc' })).toThrow(TypeError)
})
