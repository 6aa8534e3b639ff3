import { keysVersion } from '@sallyport/core/internal/server'
import { afterAll, describe, expect, type TestContext, test } from 'vitest'
import { hostSallyport } from '../../../core/test/support/host-sallyport.ts'
import { type KeyFileServer, startKeyFileServer } from '../support/key-file-server.ts'
import { type Browser, ENDED, OPEN, openBrowser, standingOf } from '../support/open-browser.ts'
import { soon } from '../support/soon.ts'
import { callOverHttp, openSocket } from '../support/wire.ts'

const host = hostSallyport()
afterAll(host.stop)

/** Returns the id of the signing key. */
const active = (server: KeyFileServer) => server.keyFile.signingKeys.active.kid

/** Makes a new key sign, and returns the id of the previous one. */
async function rotate(server: KeyFileServer): Promise<string> {
  const before = active(server)
  await server.keys('create')
  await server.keys('rotate', '--force')
  await soon(() => expect(active(server)).not.toBe(before))
  return before
}

/** Checks that everything is still open and responsive: the clocks continue. */
async function expectOpen(server: KeyFileServer, browser: Browser, expected = OPEN): Promise<void> {
  const { overWebSocket, overEvents } = browser
  const [webSocketTicks, eventTicks] = [overWebSocket.ticks, overEvents.ticks]
  await soon(() => {
    expect(overWebSocket.ticks).toBeGreaterThan(webSocketTicks)
    expect(overEvents.ticks).toBeGreaterThan(eventTicks)
  })
  expect(await standingOf(server, browser)).toEqual(expected)
}

/** Checks that everything that relies on a key ends. Returns after how long. */
async function expectEnded(server: KeyFileServer, browser: Browser): Promise<void> {
  const startedAt = performance.now()
  await soon(async () => expect(await standingOf(server, browser)).toEqual(ENDED))
  const { config } = server
  expect(config.identityCache.get(browser.signedIn.token, keysVersion(config))).toBeUndefined()
  console.log(`ended ${Math.round(performance.now() - startedAt)} ms after the file had changed`)
}

/** Wraps a test with a separate server, so all tests can wait at the same time. */
const withServer =
  (run: (server: KeyFileServer) => Promise<void>) =>
  async ({ onTestFinished }: TestContext): Promise<void> => {
    const server = await startKeyFileServer(host)
    onTestFinished(server.close)
    await run(server)
  }

describe.concurrent('a leaked key', () => {
  test(
    'ends everything that relies on it, and nothing else',
    withServer(async (server) => {
      const ada = await openBrowser(server)
      const leaked = await rotate(server)
      const grace = await openBrowser(server)
      await expectOpen(server, ada)
      await server.keys('retire', leaked, '--now')
      await expectEnded(server, ada)
      await expectOpen(server, grace)
    }),
  )

  test(
    'ends it even if it is the signing key, and the next key signs at once',
    withServer(async (server) => {
      const ada = await openBrowser(server)
      const leaked = active(server)
      await server.keys('create')
      await server.keys('retire', leaked, '--now')
      await expectEnded(server, ada)
      expect(active(server)).not.toBe(leaked)
      await expectOpen(server, await openBrowser(server))
    }),
  )

  test(
    'ends no session: a refresh issues a JWT with another key',
    withServer(async (server) => {
      const ada = await openBrowser(server)
      await server.keys('create')
      await server.keys('retire', active(server), '--now')
      await expectEnded(server, ada)
      const { headers } = ada.signedIn
      const answer = await fetch(`http://${server.host}/api/auth/backend/token`, { headers })
      expect(answer.status).toBe(200)
      const [jwt = ''] = answer.headers.getSetCookie()
      const session = headers.cookie.slice(headers.cookie.indexOf('; '))
      const refreshed = { token: '', headers: { ...headers, cookie: `${jwt.split(';')[0]}${session}` } }
      expect(await callOverHttp(server, refreshed)).toBe('accepted')
    }),
  )

  test(
    'ends a socket and streams whose JWT expired long ago',
    withServer(async (server) => {
      const ada = await openBrowser(server)
      const leaked = await rotate(server)
      server.clock.advance(3_600)
      await expectOpen(server, ada, { ...OPEN, httpCall: 'TOKEN_EXPIRED' })
      await server.keys('retire', leaked, '--now')
      await expectEnded(server, ada)
    }),
  )

  test(
    'closes a socket that calls nothing',
    withServer(async (server) => {
      const { call, closed } = await openSocket(server, await server.signIn())
      expect(await call()).toBe('accepted')
      const leaked = await rotate(server)
      await server.keys('retire', leaked, '--now')
      expect(await closed).toBe('TOKEN_INVALID')
    }),
  )

  test(
    "is any key removed before its last JWT has expired, even if it wasn't reported as leaked",
    withServer(async (server) => {
      const ada = await openBrowser(server)
      const removed = await rotate(server)
      server.edit((keys) => keys.filter(({ kid }) => kid !== removed))
      await expectEnded(server, ada)
    }),
  )
})

describe.concurrent('a key that retired normally', () => {
  test(
    'ends nothing while it retires',
    withServer(async (server) => {
      const ada = await openBrowser(server)
      await rotate(server)
      await rotate(server)
      await expectOpen(server, ada)
    }),
  )

  test(
    'ends neither an old socket nor a stream when it is gone, but its JWT is no longer valid',
    withServer(async (server) => {
      const ada = await openBrowser(server)
      const retired = await rotate(server)
      server.clock.advance(961)
      server.edit((keys) =>
        keys.map((key) =>
          key.kid === retired ? { ...key, since: new Date(Date.now() - 961_000).toISOString() } : key,
        ),
      )
      await soon(() => expect(server.keyFile.jwks.status(retired)).toBe('gone'))
      await expectOpen(server, ada, { ...OPEN, httpCall: 'TOKEN_INVALID' })
    }),
  )
})
