import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestSession } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PATHS, startServer } from '../support/start-server.ts'

const server = await startServer()
const node = fileURLToPath(new URL('../fixtures/page-node.ts', import.meta.url))
let ada: TestSession
beforeEach(async () => {
  ada = await server.auth.signIn()
})
afterEach(() => server.clear())
afterAll(() => server.close())

/** Renders a page in another process, and resolves when that process has ended. */
function render(cookie?: string) {
  const args = [node, `http://${server.host}`, PATHS.fetch, ...(cookie === undefined ? [] : [cookie])]
  return promisify(execFile)(process.execPath, args, { timeout: 50_000 })
}

describe('a page that suspends on a query that was not prefetched ends, and its process too', () => {
  test("with the user's data if it has the cookies of the page", async () => {
    const { stdout, stderr } = await render(ada.cookie)
    expect(stdout).toContain(`<b>${ada.userId}</b>`)
    expect(stderr).toBe('')
  })

  test.each([
    { what: 'it has no cookies', cookie: async () => undefined, message: 'On a server, ' },
    { what: 'the page has none', cookie: async () => '', message: 'No token was sent' },
    {
      what: 'the JWT has expired',
      cookie: async () => (await server.auth.expireJwt(ada)).cookie,
      message: 'The token has expired',
    },
    {
      what: 'sessions are unavailable',
      cookie: async () => {
        server.store.answer = () => Promise.reject(new Error('The database is down'))
        return ada.cookie
      },
      message: 'Sessions cannot be checked',
    },
  ])('with the fallback if $what', async ({ cookie, message }) => {
    const { stdout, stderr } = await render(await cookie())
    expect(stdout).toContain('One moment')
    expect(stdout).not.toContain('<b>')
    expect(stderr).toContain(message)
  })
})
