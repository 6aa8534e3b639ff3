import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundle } from '../../../core/test/support/bundle.ts'
import { runOnEdge } from '../../../core/test/support/run-on-edge.ts'
import { createTimers } from '../edge/timers.ts'
import { deferred } from '../support/deferred.ts'
import type { Settings } from './edge-page.ts'
import { cookieWith, createScene, type Scene } from './scene.ts'

const path = fileURLToPath(new URL('./edge-page.ts', import.meta.url))
const timers = createTimers()
const edge = await runOnEdge<typeof import('./edge-page.ts')>(path, timers.globals)

let scene: Scene
beforeAll(async () => {
  scene = await createScene()
})
afterAll(() => scene.close())

function openPage(ask: Settings['ask']) {
  const { config, definition, clock } = scene.auth
  return edge.createPage({
    baseUrl: config.baseUrl,
    jwks: JSON.stringify(definition.signingKeys.publicJwks),
    now: () => clock.now().getTime(),
    ask,
  })
}

const askAuthServer: Settings['ask'] = async (url, headers) => {
  const response = await scene.auth.handler(new Request(url, { headers }))
  return { status: response.status, body: await response.text(), setCookies: response.headers.getSetCookie() }
}

test('on the edge a page has its user, with the JWT that it came with or one from the auth server', async () => {
  const session = await scene.auth.signIn()
  const { userId, sessionId } = session
  const state = JSON.stringify({ status: 'authenticated', userId, sessionId, expiresIn: 900 })
  const page = openPage(askAuthServer)
  expect(await page(session.cookie)).toEqual({ state, setCookies: [] })
  const refreshed = await page(await cookieWith('expired', scene, session))
  expect(refreshed).toEqual({ state, setCookies: [expect.stringMatching(/^service\.jwt=./)] })
  expect(timers.pending).toBe(0)
})

test('on the edge an auth server that does not answer decides nothing', async () => {
  const cookie = await cookieWith('missing', scene, await scene.auth.signIn())
  const asked = deferred<void>()
  const ask = () => {
    asked.resolve()
    return new Promise<never>(() => {})
  }
  const opened = openPage(ask)(cookie)
  await asked.promise
  await timers.advance(5_000)
  expect(await opened).toEqual({ state: '{"status":"unknown"}', setCookies: [] })
})

test('a page on the edge carries neither plugins nor endpoints', async () => {
  const { imports, files } = await bundle(path)
  expect(imports).toEqual([])
  const heavy = /core\/src\/(plugins|endpoints|database|cli)\/|node_modules\/(kysely|zod|react|@trpc)\//
  expect(files.filter((file) => heavy.test(file))).toEqual([])
})
