import { fileURLToPath } from 'node:url'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { Miniflare, type Request as MiniflareRequest } from 'miniflare'
import { rolldown } from 'rolldown'
import { afterAll, expect, test } from 'vitest'
import type { StoredSession } from './app.ts'

const baseUrl = 'https://app.example.com'
const key = await createSigningKey()
const keys = parseSigningKeys({ keys: [key] })
const jwks = JSON.stringify(keys.publicJwks)
const config = defineAuthConfig({ baseUrl, jwks: staticJwks(jwks) })

const build = await rolldown({ input: fileURLToPath(new URL('./worker.ts', import.meta.url)) })
const { output } = await build.generate({ format: 'esm', codeSplitting: false })
await build.close()
const worker = new Miniflare({
  modules: true,
  script: output[0].code,
  compatibilityDate: '2026-07-01',
  /** The auth server. */
  outboundService: ({ url, headers }: MiniflareRequest) =>
    Response.json({ url, cookie: headers.get('cookie') }),
})
afterAll(() => worker.dispose())
const url = await worker.ready

const expiresAt = Date.now() + 3_600_000
const stored = (id: string): StoredSession => ({ id, userId: 'ada', expiresAt, role: 'user' })

async function cookieOf(id: string): Promise<string> {
  const session = { id, userId: 'ada', expiresAt: new Date(expiresAt) }
  const { token } = await issueJwt(session, { key: keys.active, config })
  return `${config.cookies.jwt}=${token}`
}

async function openApp(sessions: readonly StoredSession[]): Promise<void> {
  const settings = { baseUrl, keys: { jwks }, sessions }
  await fetch(new URL('/open', url), { method: 'POST', body: JSON.stringify(settings) })
}

async function openStream(id: string) {
  const aborter = new AbortController()
  const headers = {
    cookie: await cookieOf(id),
    accept: 'text/event-stream',
    'sec-fetch-site': 'same-origin',
  }
  const { body } = await fetch(new URL('/ticks', url), { headers, signal: aborter.signal })
  if (body === null) throw new TypeError('A stream was expected')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  async function readUntil(part: string): Promise<void> {
    for (let text = ''; !text.includes(part); ) {
      const { done, value = '' } = await reader.read()
      if (done) throw new Error(`The stream has ended: ${text}`)
      text += value
    }
  }
  await readUntil('data: 1')
  return { readUntil, abort: () => aborter.abort() }
}

test('in a Worker, streams end with their session, whatever happens to the streams of other requests', async () => {
  await openApp(['s1', 's2'].map(stored))
  const other = await openStream('s2')
  const streams = [await openStream('s1'), await openStream('s1')]
  other.abort()
  await fetch(new URL('/delete', url))
  await Promise.all(streams.map(({ readUntil }) => readUntil('SESSION_NOT_FOUND')))
})

test('in a Worker, a lookup that hangs is 503, although the timers of an earlier request have ended', async () => {
  await openApp([stored('s1'), { ...stored('s2'), hangs: true }])
  const statusOf = async (id: string) => {
    const headers = { cookie: await cookieOf(id), 'sec-fetch-site': 'same-origin' }
    return (await fetch(new URL('/me', url), { headers })).status
  }
  expect([await statusOf('s1'), await statusOf('s2'), await statusOf('s1')]).toEqual([200, 503, 200])
})

test('in a Worker, a module can create a client', async () => {
  const response = await fetch(new URL('/client', url))
  expect(await response.json()).toMatchObject({ status: 'loading' })
})

test("in a Worker, the client of a page calls an endpoint with the page's cookies", async () => {
  const response = await fetch(new URL('/page', url), { headers: { cookie: 'a=b' } })
  expect(await response.json()).toEqual({ url: `${baseUrl}/api/auth/session`, cookie: 'a=b' })
})
