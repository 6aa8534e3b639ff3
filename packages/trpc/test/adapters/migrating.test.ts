import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { authHandlerOptions, webSocketOptions } from '@sallyport/trpc'
import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { createTRPCClient, httpLink } from '@trpc/client'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { ORIGIN } from '../support/visitor.ts'
import { authConfig } from './migrating/auth.config.ts'
import { httpContext, wsContext } from './migrating/context.ts'
import { store } from './migrating/database.ts'
import { file, oldDatabase, outage, signIn } from './migrating/old-app.ts'
import { type AppRouter, appRouter } from './migrating/router.ts'
import { answerToken } from './migrating/token-route.ts'

const server = createServer(
  getRequestListener((req) =>
    new URL(req.url).pathname === '/api/auth/backend/token'
      ? answerToken(req)
      : fetchRequestHandler({
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

/** Opens a browser with the old app's cookie and our client. */
function openBrowser(session: { cookie: string }) {
  const { fetch: send, header: cookie } = cookieFetch({ origin: ORIGIN }, session.cookie)
  const authClient = createAuthClient({ isServer: false, baseUrl, fetch: send })
  const links = [authLink(authClient), httpLink({ url: `${baseUrl}/trpc`, fetch: authClient.fetch })]
  return { authClient, cookie, send, client: createTRPCClient<AppRouter>({ links }) }
}

/** Calls a procedure over WebSocket and returns the response as text. */
async function overWebSocket(cookie: string, path: string): Promise<string> {
  const headers = { cookie, origin: ORIGIN }
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/trpc`, { headers })
  const answer = new Promise<string>((resolve) => socket.on('message', (data) => resolve(String(data))))
  socket.on('open', () => socket.send(JSON.stringify({ id: 1, method: 'query', params: { path } })))
  return answer.finally(() => socket.terminate())
}

test('both guards accept a user of the old app without a new sign-in', async () => {
  const { authClient, client } = openBrowser(signIn())
  expect(await client.reports.list.query()).toEqual(['a report of Ada'])
  expect(await client.notes.list.query()).toEqual(['a note of Ada'])
  expect(authClient.getState()).toMatchObject({ status: 'authenticated', userId: 'u1' })
})

test('when the old app deletes the row, the next call is rejected and the client signs out', async () => {
  const session = signIn()
  const { authClient, client } = openBrowser(session)
  await client.notes.list.query()
  oldDatabase.prepare('delete from sessions where id = ?').run(session.id)
  await expect(client.notes.list.query()).rejects.toMatchObject({
    data: { auth: { reason: 'SESSION_NOT_FOUND' } },
  })
  await expect.poll(() => authClient.getState().status).toBe('unauthenticated')
})

test('while the database is unreachable, the old guard reports signed out, and ours reports an outage', async () => {
  const { authClient, client } = openBrowser(signIn())
  await client.notes.list.query()
  outage.isOn = true
  try {
    await expect(client.reports.list.query()).rejects.toMatchObject({ data: { code: 'UNAUTHORIZED' } })
    await expect(client.notes.list.query()).rejects.toMatchObject({
      data: { auth: { reason: 'SESSIONS_UNAVAILABLE' } },
    })
    await authClient.refresh()
    expect(authClient.getState()).toMatchObject({
      status: 'authenticated',
      error: { code: 'SESSIONS_UNAVAILABLE' },
    })
  } finally {
    outage.isOn = false
  }
})

test("another site can't call migrated procedures", async () => {
  const { client, cookie } = openBrowser(signIn())
  await client.notes.list.query()
  const headers = { cookie: cookie(), origin: 'https://evil.example', 'content-type': 'application/json' }
  expect((await fetch(`${baseUrl}/trpc/notes.add`, { method: 'POST', headers })).status).toBe(403)
  const token = await fetch(`${baseUrl}/api/auth/backend/token`, { headers })
  expect([token.status, token.headers.get('set-cookie')]).toEqual([403, null])
})

test('the token endpoint rejects an unknown session cookie', async () => {
  const { send } = openBrowser({ cookie: 'token=guessed' })
  const answer = await send(`${baseUrl}/api/auth/backend/token`)
  expect([answer.status, (await answer.json()).code]).toEqual([401, 'SESSION_NOT_FOUND'])
})

test('over WebSocket, migrated procedures are available and others are rejected', async () => {
  const { client, cookie } = openBrowser(signIn())
  await client.notes.list.query()
  expect(await overWebSocket(cookie(), 'notes.list')).toContain('a note of Ada')
  expect(await overWebSocket(cookie(), 'reports.list')).toContain('UNAUTHORIZED')
})

test.each(['token-route.ts', 'context.ts', 'procedures.ts', 'router.ts'])(
  'docs/migrating.md has the text of %s',
  (name) => {
    const code = readFileSync(join(import.meta.dirname, 'migrating', name), 'utf8')
    const document = readFileSync(join(import.meta.dirname, '../../../../docs/migrating.md'), 'utf8')
    expect(document).toContain(`\`\`\`ts\n// ${name}\n${code}\`\`\`\n`)
  },
)
