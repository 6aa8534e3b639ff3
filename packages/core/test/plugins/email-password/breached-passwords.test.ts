import { createHash } from 'node:crypto'
import { breachedPasswords } from '@sallyport/core/plugins/email-password'
import { describe, expect, test, vi } from 'vitest'
import { codeOf } from '../../support/code-of.ts'
import { patientFetch, startRangeServer } from '../../support/range-server.ts'

const BREACHED = 'a password that was seen'
const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()

async function check(password: string, options: Parameters<typeof breachedPasswords>[0]) {
  const skipped: string[] = []
  const user = { id: null, name: 'Ada', email: 'ada@example.com' }
  const reportSkipped = (cause: string) => void skipped.push(cause)
  const code = await codeOf(breachedPasswords(options)({ password, user, reportSkipped }))
  return { code, skipped }
}

describe('a service that speaks the range protocol', () => {
  test('rejects a known password', async () => {
    const { url } = await startRangeServer({ [BREACHED]: 3, another: 7 })
    expect(await check(BREACHED, { url, fetch: patientFetch })).toEqual({
      code: 'PASSWORD_BREACHED',
      skipped: [],
    })
  })

  test('accepts an unknown password', async () => {
    const { url, requests } = await startRangeServer({ [BREACHED]: 3 })
    expect(await check('correct horse battery staple', { url, fetch: patientFetch })).toEqual({
      code: 'accepted',
      skipped: [],
    })
    expect(requests).toHaveLength(1)
  })

  test('accepts a password that occurs only as padding, with the count 0', async () => {
    const { url } = await startRangeServer({ [BREACHED]: 0 })
    expect(await check(BREACHED, { url, fetch: patientFetch })).toEqual({ code: 'accepted', skipped: [] })
  })

  test('receives the first 5 digits of the hash, and a request for padding', async () => {
    const { url, requests } = await startRangeServer({})
    await check(BREACHED, { url, fetch: patientFetch })
    expect(requests).toEqual([{ path: `/range/${sha1(BREACHED).slice(0, 5)}`, padding: 'true' }])
  })

  test.each([
    ['in lower case', (line: string) => line.toLowerCase()],
    ['without carriage returns', (line: string) => `${line}\n`],
  ])('may write its lines %s', async (_name, write) => {
    const line = `${sha1(BREACHED).slice(5)}:12`
    const { url } = await startRangeServer({}, (response) => void response.end(write(line)))
    expect(await check(BREACHED, { url, fetch: patientFetch })).toMatchObject({ code: 'PASSWORD_BREACHED' })
  })

  test('is Have I Been Pwned by default', async () => {
    const fetch = vi.fn<typeof globalThis.fetch>(async () => new Response(`${'0'.repeat(35)}:1`))
    expect(await check(BREACHED, { fetch })).toEqual({ code: 'accepted', skipped: [] })
    const [url] = fetch.mock.calls[0] ?? []
    expect(url).toBe(`https://api.pwnedpasswords.com/range/${sha1(BREACHED).slice(0, 5)}`)
  })
})

describe('the password is accepted, and the failure is reported, if the service', () => {
  test.each<[string, Parameters<typeof startRangeServer>[1], RegExp]>([
    ['responds with 503', (response) => void response.writeHead(503).end(), /503/],
    ['responds with 429', (response) => void response.writeHead(429).end(), /429/],
    ['responds with a page', (response) => void response.end('<html>Sign in to the hotel</html>'), /range/],
    ['responds with an empty body', (response) => void response.end(), /range/],
    ['hangs up', (response) => void response.destroy(), /./],
    ['never responds', () => {}, /timeout|aborted/i],
    ['stops in the middle', (response) => void response.write('0'.repeat(35)), /timeout|aborted/i],
  ])('%s', async (_name, respond, cause) => {
    const { url } = await startRangeServer({}, respond)
    // Only the slow ones need the time limit.
    const isSlow = cause.test('timeout')
    const { code, skipped } = await check(BREACHED, isSlow ? { url } : { url, fetch: patientFetch })
    expect(code).toBe('accepted')
    expect(skipped).toEqual([expect.stringMatching(cause)])
    expect(skipped.join()).not.toContain(BREACHED)
  })

  test('responds endlessly', async () => {
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    })
    const { code, skipped } = await check(BREACHED, { fetch: async () => new Response(endless) })
    expect([code, ...skipped]).toEqual(['accepted', 'The body has more than 1000000 bytes'])
  })

  test('redirects', async () => {
    const other = await startRangeServer({ [BREACHED]: 1 })
    const location = `${other.url}${sha1(BREACHED).slice(0, 5)}`
    const { url } = await startRangeServer({}, (response) => void response.writeHead(302, { location }).end())
    const { code, skipped } = await check(BREACHED, { url, fetch: patientFetch })
    expect([code, skipped.length, other.requests.length]).toEqual(['accepted', 1, 0])
  })

  test('can’t be reached', async () => {
    const { code, skipped } = await check(BREACHED, { url: 'http://127.0.0.1:1/range/' })
    // `fetch` itself reports only that it failed.
    expect([code, ...skipped]).toEqual(['accepted', 'fetch failed: bad port'])
  })

  test('can’t be reached at any of its addresses', async () => {
    const cause = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }))
    const { code, skipped } = await check(BREACHED, { fetch })
    expect([code, ...skipped]).toEqual(['accepted', 'fetch failed: ECONNREFUSED'])
  })
})
