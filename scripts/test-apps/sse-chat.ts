import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { runNext, serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { readApp } from '../../packages/trpc/test/next/write-files.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { countLines } from './count-lines.ts'
import { editFiles } from './edit-files.ts'
import { fetchAs } from './fetch-as.ts'
import { commitApp, installPackages, keysIn, runInit } from './init-app.ts'
import { newNextApp } from './next.ts'
import { proveApp } from './prove-app.ts'
import { GUARDS, PROOF_PAGES, PROOFS, UNGUARDED_CHAT } from './sse-chat-files.ts'

/** A chat in Next.js over server-sent events, to which `init` adds auth with an email and password. */
export const sseChatApp: App = {
  name: 'next-sse-chat',
  async test({ root, libraries, browser }) {
    const cwd = join(root, 'next-sse-chat')
    renameSync(newNextApp(root, libraries), cwd)
    editFiles(cwd, UNGUARDED_CHAT)
    installPackages(cwd, ['superjson@2'])
    commitApp(cwd)
    runInit(cwd)
    const { changed } = countLines(cwd)
    commitApp(cwd)
    editFiles(cwd, GUARDS)
    const byHand = countAdded(cwd)
    console.log(`next-sse-chat: ${byHand} of the lines that change are left by init`)
    assert.ok(changed + byHand <= 60)

    const pages = PROOF_PAGES.map((path) => [path, pageOf(path)])
    editFiles(cwd, { ...PROOFS, ...Object.fromEntries(pages) })
    await runNext(['build'], { cwd })
    await using server = await serveNext({ args: ['start'] }, { cwd })
    const { origin } = server
    const ban = (email: string) => banInSqlite(join(cwd, 'data/app.db'), email)
    await proveChat(browser, origin)
    const { SIGNING_KEYS: signingKeys } = keysIn(cwd)
    await proveApp({ origin, signingKeys, isSuperjson: true, ban }, browser)
  },
}

/** Returns how many lines were added or changed since the last commit. */
function countAdded(cwd: string): number {
  const lines = run('git', ['diff', '--numstat'], { cwd }).trim().split('\n')
  return lines.reduce((sum, line) => sum + Number(line.split('\t')[0]), 0)
}

/** Returns a page of the guide's app for this one, which has another path to its server. */
const pageOf = (path: string): string => (readApp().get(path) ?? '').replace("/server'", "/server/pages'")

const PASSWORD = 'a long enough password'

/** Two browsers chat. When one of them loses its session, its stream ends at once, and the other goes on. */
async function proveChat(browser: Place['browser'], origin: string): Promise<void> {
  const [joan, mary] = [
    await enter(browser, { origin, name: 'Joan' }),
    await enter(browser, { origin, name: 'Mary' }),
  ]
  await joan.say('hello')
  await mary.page.getByText('Joan: hello').waitFor()
  await mary.say('good morning')
  for (const { page } of [joan, mary]) await page.getByText('Mary: good morning').waitFor()

  const cookie = (await mary.page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  const stream = await follow(origin, cookie)
  const elsewhere = await fetchAs(origin, { email: 'mary@example.com', password: PASSWORD })
  const revoke = { method: 'POST', body: '{}' }
  assert.equal((await elsewhere.fetch(`${origin}/api/auth/revoke-other-sessions`, revoke)).status, 200)

  assert.match(await stream.text(), /"reason":"SESSION_NOT_FOUND"/)
  await mary.page.getByText('Home').waitFor()
  await joan.say('still there?')
  await joan.page.getByText('Joan: still there?').waitFor()
  assert.equal(await mary.page.getByText(/Joan:/).count(), 0)
  for (const { page } of [joan, mary]) await page.context().close()
}

async function enter(browser: Place['browser'], { origin, name }: { origin: string; name: string }) {
  const page = await browser.newPage()
  await page.goto(origin)
  await page.waitForFunction('window.client !== undefined')
  const user = { name, email: `${name.toLowerCase()}@example.com`, password: PASSWORD }
  await page.evaluate(
    `client.api.signUpEmail(${JSON.stringify(user)}).then(() => router.push('/channels/general'))`,
  )
  const input = page.getByLabel('Text')
  await page.getByText('pending').waitFor()
  return {
    page,
    async say(text: string) {
      await input.fill(text)
      await input.press('Enter')
    },
  }
}

/** Opens the stream of a channel, and returns its response once it has begun. */
async function follow(origin: string, cookie: string): Promise<Response> {
  const input = encodeURIComponent(JSON.stringify({ json: { channel: 'general', lastEventId: 0 } }))
  const response = await fetch(`${origin}/api/trpc/post.onAdd?input=${input}`, {
    headers: { cookie, accept: 'text/event-stream', 'sec-fetch-site': 'same-origin' },
  })
  assert.equal(response.status, 200)
  return response
}
