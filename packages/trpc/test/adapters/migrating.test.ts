import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, webSocketOptions } from '@sallyport/trpc'
import { createTRPCClient, httpLink } from '@trpc/client'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { ORIGIN } from '../support/visitor.ts'
import { authConfig } from './migrating/auth.config.ts'
import { httpContext, wsContext } from './migrating/context.ts'
import { store } from './migrating/database.ts'
import { file, oldDatabase, outage, signIn } from './migrating/old-app.ts'
import { type AppRouter, appRouter } from './migrating/router.ts'

const server = createServer(
  getRequestListener((req) =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req,
      router: appRouter,
      createContext: httpContext,
      ...authHandlerOptions,
    }),
  ),
)
const wss = new WebSocketServer({ server, path: '/trpc', ...webSocketOptions(authConfig) })
applyWSSHandler({ wss, router: appRouter, createContext: wsContext, ...authHandlerOptions })

let baseUrl: string
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, resolve))
  baseUrl = `http://localhost:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  for (const socket of wss.clients) socket.terminate()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await store.close()
  oldDatabase.close()
  rmSync(dirname(file), { recursive: true })
})

/** Opens a client with the old app's cookie. */
function openClient({ cookie }: { cookie: string }) {
  const headers = { origin: ORIGIN, cookie }
  return createTRPCClient<AppRouter>({ links: [httpLink({ url: `${baseUrl}/trpc`, headers })] })
}

const rejected = (reason: string) => ({ data: { auth: { reason } } })

/** Calls a procedure over WebSocket and returns the response as text. */
async function overWebSocket(cookie: string, path: string): Promise<string> {
  const headers = { cookie, origin: ORIGIN }
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/trpc`, { headers })
  const answer = new Promise<string>((resolve) => socket.on('message', (data) => resolve(String(data))))
  socket.on('open', () => socket.send(JSON.stringify({ id: 1, method: 'query', params: { path } })))
  return answer.finally(() => socket.terminate())
}

test('both guards accept a user of the old app without a new sign-in', async () => {
  const client = openClient(signIn())
  expect(await client.reports.list.query()).toEqual(['a report of Ada'])
  expect(await client.notes.list.query()).toEqual(['a note of Ada'])
})

test('when the old app deletes the row, the next call is rejected', async () => {
  const session = signIn()
  const client = openClient(session)
  await client.notes.list.query()
  oldDatabase.prepare('delete from sessions where id = ?').run(session.id)
  await expect(client.notes.list.query()).rejects.toMatchObject(rejected('SESSION_NOT_FOUND'))
})

test('while the database is unreachable, the old guard reports signed out, and ours reports an outage', async () => {
  const client = openClient(signIn())
  outage.isOn = true
  try {
    await expect(client.reports.list.query()).rejects.toMatchObject({ data: { code: 'UNAUTHORIZED' } })
    await expect(client.notes.list.query()).rejects.toMatchObject(rejected('SESSIONS_UNAVAILABLE'))
  } finally {
    outage.isOn = false
  }
  expect(await client.notes.list.query()).toEqual(['a note of Ada'])
})

test("another site can't call migrated procedures", async () => {
  const { cookie } = signIn()
  const headers = { cookie, origin: 'https://evil.example', 'content-type': 'application/json' }
  expect((await fetch(`${baseUrl}/trpc/notes.add`, { method: 'POST', headers })).status).toBe(403)
})

test('an unknown session cookie is rejected', async () => {
  const client = openClient({ cookie: 'token=guessed' })
  await expect(client.notes.list.query()).rejects.toMatchObject(rejected('SESSION_NOT_FOUND'))
})

test('over WebSocket, migrated procedures are available and others are rejected', async () => {
  const { cookie } = signIn()
  expect(await overWebSocket(cookie, 'notes.list')).toContain('a note of Ada')
  expect(await overWebSocket(cookie, 'reports.list')).toContain('UNAUTHORIZED')
})

test.each(['context.ts', 'procedures.ts', 'router.ts'])('docs/migrating.md has the text of %s', (name) => {
  const code = readFileSync(join(import.meta.dirname, 'migrating', name), 'utf8')
  const document = readFileSync(join(import.meta.dirname, '../../../../docs/migrating.md'), 'utf8')
  expect(document).toContain(`\`\`\`ts\n// ${name}\n${code}\`\`\`\n`)
})
