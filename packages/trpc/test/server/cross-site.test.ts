import type { Reason } from '@sallyport/core'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { callerFor } from '../support/connect.ts'
import { outcomeOf } from '../support/outcome.ts'
import { type RawAnswer, rawRequest } from '../support/raw-request.ts'
import { PATHS, startServer } from '../support/start-server.ts'
import { FOREIGN, ORIGIN } from '../support/visitor.ts'

const PARTNER = 'https://partner.example'

const server = await startServer({ allowedOrigins: [PARTNER] })
afterEach(() => server.clear())
afterAll(() => server.close())

const reasonOf = async (call: Promise<unknown>): Promise<Reason | null> =>
  (await outcomeOf(call)).rejection?.auth?.reason ?? null

describe.each(Object.entries(PATHS))('cookies from another site, %s adapter', (_adapter, root) => {
  const multipart = 'multipart/form-data; boundary=x'
  const form = '--x\r\ncontent-disposition: form-data; name="text"\r\n\r\nhello\r\n--x--\r\n'
  const json = 'application/json'

  async function send(
    headers: Record<string, string>,
    request: { method?: string; path: string; type?: string; body?: string },
  ): Promise<RawAnswer> {
    const { cookie } = await server.auth.signIn()
    const type = request.type === undefined ? {} : { 'content-type': request.type }
    return rawRequest(server, {
      ...request,
      path: `${root}${request.path}`,
      headers: { cookie, ...type, ...headers },
    })
  }

  const query = { path: '/me' }
  const batch = { path: '/me,me?batch=1' }
  const mutation = { method: 'POST', path: '/write', type: json }
  const sensitive = { method: 'POST', path: '/rotate', type: json }
  const upload = { method: 'POST', path: '/upload', type: multipart, body: form }
  const events = { path: '/clock' }

  test.each([
    { request: 'a multipart/form-data mutation', send: upload, headers: FOREIGN },
    {
      request: 'a multipart/form-data mutation of a sandboxed frame',
      send: upload,
      headers: { origin: 'null' },
    },
    {
      request: 'a multipart/form-data mutation of an old browser',
      send: upload,
      headers: { origin: FOREIGN.origin },
    },
    { request: 'a multipart/form-data mutation without any origin', send: upload, headers: {} },
    {
      request: 'an octet-stream mutation',
      send: { ...mutation, type: 'application/octet-stream' },
      headers: FOREIGN,
    },
    { request: 'a JSON mutation', send: mutation, headers: FOREIGN },
    {
      request: 'a JSON mutation of a sister site',
      send: mutation,
      headers: { 'sec-fetch-site': 'same-site' },
    },
    { request: 'a sensitive mutation', send: sensitive, headers: FOREIGN },
    { request: 'a query', send: query, headers: FOREIGN },
    { request: 'a batch of queries', send: batch, headers: FOREIGN },
    {
      request: 'a mutation with the client header',
      send: mutation,
      headers: { ...FOREIGN, 'x-sallyport': '1' },
    },
  ])('$request: ORIGIN_REJECTED', async ({ send: request, headers }) => {
    const answer = await send(headers, request)
    expect(answer).toMatchObject({ status: 403, reason: 'ORIGIN_REJECTED' })
    expect(server.stage.runs).toEqual([])
    expect(server.auth.lookups.count).toBe(0)
  })

  test('server-sent events: ORIGIN_REJECTED in the stream', async () => {
    const answer = await send({ ...FOREIGN, accept: 'text/event-stream' }, events)
    expect(answer).toMatchObject({ status: 200, reason: 'ORIGIN_REJECTED' })
    expect(server.stage.runs).toEqual([])
  })

  test('a mutation by GET: rejected by tRPC', async () => {
    const answer = await send(FOREIGN, { path: '/write' })
    expect(answer.status).toBe(405)
    expect(server.stage.runs).toEqual([])
  })

  const kinds = [
    { kind: 'a query', request: query },
    { kind: 'a mutation', request: mutation },
    { kind: 'a multipart/form-data mutation', request: upload },
    { kind: 'a sensitive mutation', request: sensitive },
    { kind: 'a subscription', request: events },
  ]
  const own = [
    { from: 'a page of the same origin', headers: { 'sec-fetch-site': 'same-origin' } },
    { from: 'an old browser on our origin', headers: { origin: ORIGIN } },
    { from: 'a page of a listed origin', headers: { origin: PARTNER, 'sec-fetch-site': 'cross-site' } },
    { from: 'a program with x-sallyport: 1', headers: { 'x-sallyport': '1' } },
  ]
  describe.each(kinds)('$kind', ({ kind, request }) => {
    test.each(own)('passes from $from', async ({ headers }) => {
      const answer = await send(headers, request)
      expect(answer).toMatchObject({ status: 200, reason: null })
      expect(server.stage.runs).toHaveLength(1)
    })

    const passes = kind === 'a query'
    test(`${passes ? 'passes' : 'is rejected'} without Origin, Sec-Fetch-Site and x-sallyport`, async () => {
      const answer = await send({}, request)
      expect(answer.reason).toBe(passes ? null : 'ORIGIN_REJECTED')
      expect(server.stage.runs).toHaveLength(passes ? 1 : 0)
    })
  })

  test('a link from another site may render a page for its user, and do nothing else', async () => {
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }
    expect(await send(link, query)).toMatchObject({ status: 200, reason: null })
    expect(await send(link, events)).toMatchObject({ reason: 'ORIGIN_REJECTED' })
  })

  test('without cookies there is nothing to protect: TOKEN_MISSING', async () => {
    const answer = await rawRequest(server, { path: `${root}/me`, headers: FOREIGN })
    expect(answer).toMatchObject({ status: 401, reason: 'TOKEN_MISSING' })
  })
})

describe('server-side calls', () => {
  test('are treated like the page request', async () => {
    const { cookie } = await server.auth.signIn()
    const page = callerFor(server, { headers: { cookie, 'sec-fetch-site': 'none' } })
    expect(await reasonOf(page.me())).toBeNull()
    expect(await reasonOf(page.write())).toBeNull()
    const foreign = callerFor(server, { headers: { cookie, ...FOREIGN } })
    expect(await reasonOf(foreign.me())).toBe('ORIGIN_REJECTED')
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }
    const linked = callerFor(server, { headers: { cookie, ...link } })
    expect(await reasonOf(linked.me())).toBeNull()
    expect(await reasonOf(linked.write())).toBe('ORIGIN_REJECTED')
  })
})
