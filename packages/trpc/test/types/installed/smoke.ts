// Runs against the installed tarballs with `pnpm test:packages`. Exits with 0 if every step passed.
import assert from 'node:assert/strict'
import { createTRPCClient, createWSClient, httpBatchLink, wsLink } from '@trpc/client'
import { WebSocket } from 'ws'
import { openClient } from './client.ts'
import { database } from './database.ts'
import { answersOnPostgres } from './postgres.ts'
import { renderPage } from './render-page.ts'
import type { AppRouter } from './router.ts'
import { closeServer } from './server.ts'
import { baseUrl } from './settings.ts'
import { statesOfTestSession } from './states.ts'

const account = { email: 'ada@example.com', password: 'correct horse battery staple' }
const { db } = database

// Anonymous callers are rejected.
const stranger = createTRPCClient<AppRouter>({ links: [httpBatchLink({ url: `${baseUrl}/trpc` })] })
assert.deepEqual(await rejection(stranger.me.query()), [401, 'TOKEN_MISSING'])

// A browser signs up.
const signUp = await fetch(`${baseUrl}/api/auth/sign-up/email`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
  body: JSON.stringify({ ...account, name: 'Ada' }),
})
assert.equal(signUp.status, 200, await signUp.clone().text())
const cookie = signUp.headers
  .getSetCookie()
  .map((setCookie) => setCookie.replace(/;.*/s, ''))
  .join('; ')

// It calls over HTTP and over a WebSocket.
class SignedInSocket extends WebSocket {
  constructor(url: string | URL) {
    super(url, { headers: { cookie, origin: baseUrl } })
  }
}
const socket: unknown = SignedInSocket
const wsClient = createWSClient({
  url: `${baseUrl.replace(/^http/, 'ws')}/trpc`,
  WebSocket: socket as typeof globalThis.WebSocket,
})
const headers = { cookie, 'x-sallyport': '1' }
const overHttp = createTRPCClient<AppRouter>({ links: [httpBatchLink({ url: `${baseUrl}/trpc`, headers })] })
const overSocket = createTRPCClient<AppRouter>({ links: [wsLink({ client: wsClient })] })
await overHttp.addNote.mutate({ text: 'From HTTP' })
await overSocket.addNote.mutate({ text: 'From a socket' })
assert.equal((await overHttp.me.query()).locale, 'en')
assert.deepEqual(await overSocket.notes.query(), [{ text: 'From HTTP' }, { text: 'From a socket' }])
assert.deepEqual(await overHttp.report.query(), { count: 2, name: 'Ada' })
assert.deepEqual(await rejection(overHttp.ofAdmins.query()), [403, 'ROLE_REQUIRED'])

// A page is rendered for it.
const page = await renderPage(new Request(baseUrl, { headers: { cookie } }))
assert.match(page, /<p>From a socket<\/p>.*authenticated/)
assert.match(await renderPage(new Request(baseUrl)), /Sign in/)

// A program signs in with the library's clients.
const program = openClient()
await program.authClient.api.signInEmail(account)
assert.equal(program.authClient.getState().status, 'authenticated')
assert.equal((await program.overHttp.notes.query()).length, 2)
await program.overSocket.removeNotes.mutate()
assert.deepEqual(await program.overHttp.notes.query(), [])

// Deleting all sessions ends every call and stream.
const streamOver = new Promise<unknown>((resolve, reject) => {
  overSocket.ticks.subscribe(undefined, {
    onData: (tick) => {
      if (tick === 1) db.deleteFrom('session').execute().catch(reject)
    },
    onError: resolve,
    onComplete: () => reject(new Error('The stream has ended without a reason')),
  })
})
assert.equal(reasonOf(await streamOver), 'SESSION_NOT_FOUND')
const over = [401, 'SESSION_NOT_FOUND']
assert.deepEqual(await rejection(overHttp.me.query()), over)
assert.deepEqual(await rejection(overSocket.me.query()), over)
assert.deepEqual(await rejection(program.overHttp.me.query()), over)
assert.equal((await program.authClient.refresh()).status, 'unauthenticated')

assert.deepEqual(await statesOfTestSession(), ['accepted', 'SESSION_NOT_FOUND'])

const [postgresUrl] = process.argv.slice(2)
assert.ok(postgresUrl, 'The URL of an empty PostgreSQL database is wanted')
const [before, after] = await answersOnPostgres(postgresUrl)
assert.equal(before, '200')
assert.match(after ?? '', /^401 .*"SESSION_NOT_FOUND"/)

wsClient.close()
closeServer()
await database.close()
process.exit()

/** Returns the status and the reason of a rejected call. */
async function rejection(call: Promise<unknown>): Promise<unknown[]> {
  const error = await call.then(
    () => assert.fail('The call was accepted'),
    (error: unknown) => error,
  )
  return [dataOf(error).httpStatus, reasonOf(error)]
}

function reasonOf(error: unknown): string | undefined {
  return dataOf(error).auth?.reason
}

function dataOf(error: unknown): { httpStatus?: number; auth?: { reason: string } } {
  if (!(error instanceof Error && 'data' in error && error.data)) throw error
  return error.data
}
