import assert from 'node:assert/strict'
import { join } from 'node:path'
import { appKeys } from '../../packages/trpc/test/next/app-keys.ts'
import { runNext, serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { writeFiles } from '../../packages/trpc/test/next/write-files.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { printChanges } from './count-changes.ts'
import { editFiles } from './edit-files.ts'
import { fetchAs } from './fetch-as.ts'
import { newNextApp } from './next.ts'
import { proveApp } from './prove-app.ts'
import { CHAT_FILES, UNGUARDED_CHAT } from './sse-chat-files.ts'

/** Files of the guide that protect the app. */
const OWN_FILES = ['auth.config.ts', 'auth.ts', 'context.ts', 'server.ts', 'proxy.ts', 'instrumentation.ts']

/** A chat in Next.js over server-sent events, with `tracked` and an email and password. */
export const sseChatApp: App = {
  name: 'next-sse-chat',
  async test({ root, libraries, browser }) {
    const [folder, before] = [newNextApp(root, libraries), join(root, 'next-sse-chat-before')]
    writeFiles(folder, {})
    editFiles(folder, CHAT_FILES)
    editFiles(before, UNGUARDED_CHAT)
    const files = [...OWN_FILES, ...Object.keys(UNGUARDED_CHAT)]
    printChanges('next-sse-chat', { before, after: folder, files })
    const env = { ...(await appKeys()), DATABASE_URL: `file:${join(folder, 'app.db')}` }
    await runNext(['build'], { cwd: folder })
    await using server = await serveNext({ args: ['start'] }, { cwd: folder, env })
    const { origin } = server
    const ban = (email: string) => banInSqlite(join(folder, 'app.db'), email)
    await proveChat(browser, origin)
    await proveApp({ origin, signingKeys: env.SIGNING_KEYS, ban }, browser)
  },
}

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
  const input = encodeURIComponent(JSON.stringify({ channel: 'general', lastEventId: 0 }))
  const response = await fetch(`${origin}/api/trpc/post.onAdd?input=${input}`, {
    headers: { cookie, accept: 'text/event-stream', 'sec-fetch-site': 'same-origin' },
  })
  assert.equal(response.status, 200)
  return response
}
