import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { revokeSession } from '@sallyport/core/auth'
import { NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { type BearerStorage, bearer, createAuthClient } from '@sallyport/trpc/client'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { clientSession } from '../../src/client/client-session.ts'
import { rejection, scriptFetch, tokens } from '../support/scripted-fetch.ts'
import { soon } from '../support/soon.ts'

const auth = await createTestAuth({ bearer: true })
const server = createServer(getRequestListener((request) => auth.handler(request)))
await new Promise<void>((resolve) => server.listen(0, resolve))
const { port } = server.address() as AddressInfo
const baseUrl = `http://localhost:${port}`
const key = `sallyport ${baseUrl}`
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await auth.close()
})

/** Opens an asynchronous storage, as on a phone. */
function openStorage(items: Record<string, string> = {}): BearerStorage & { items: Map<string, string> } {
  const map = new Map(Object.entries(items))
  return {
    items: map,
    getItem: async (name) => map.get(name) ?? null,
    setItem: async (name, value) => void map.set(name, value),
    removeItem: async (name) => void map.delete(name),
  }
}

/** Opens a program with a separate storage, and records the headers of its requests. */
function open(storage = openStorage()) {
  const requests: { path: string; headers: Headers; credentials: unknown; setsCookies: boolean }[] = []
  const client = createAuthClient<typeof auth.api>({
    baseUrl,
    transport: bearer(storage),
    async fetch(input, init) {
      const response = await fetch(input, init)
      const { pathname: path } = new URL(String(input))
      const setsCookies = response.headers.has('set-cookie')
      requests.push({
        path,
        headers: new Headers(init?.headers),
        credentials: init?.credentials,
        setsCookies,
      })
      return response
    },
  })
  return { client, storage, requests }
}

async function signedIn() {
  const { email, userId } = await auth.createUser()
  const scene = open()
  await scene.client.api.signInEmail({ email, password: TEST_PASSWORD })
  return { ...scene, email, userId }
}

describe('with bearer tokens and a storage', () => {
  test('a program signs in, calls, refreshes, and signs out without a cookie', async () => {
    const { client, storage, requests, userId } = await signedIn()
    expect(client.getState()).toMatchObject({ status: 'authenticated', userId })
    expect((await client.api.getSession()).user.id).toBe(userId)
    const before = JSON.parse(storage.items.get(key) ?? '')
    auth.clock.advance(1)
    await client.refresh()
    const after = JSON.parse(storage.items.get(key) ?? '')
    expect(after).toMatchObject({ userId, sessionToken: before.sessionToken })
    expect(after.token).not.toBe(before.token)
    expect(client[clientSession].tokens?.connectionParams().token).toBe(after.token)

    await client.signOut()
    expect(client.getState()).toMatchObject({ status: 'unauthenticated', userId: null })
    expect([...storage.items]).toEqual([])
    expect(client[clientSession].tokens?.connectionParams()).toEqual({})
    expect(requests.map(({ path }) => path.replace('/api/auth', ''))).toEqual([
      '/sign-in/email',
      '/session',
      '/backend/token',
      '/sign-out',
    ])
    expect(requests.some(({ setsCookies }) => setsCookies)).toBe(false)
    expect(new Set(requests.map(({ credentials }) => credentials))).toEqual(new Set(['omit']))
    expect(requests[0]?.headers.get(SESSION_HEADER)).toBe(NO_SESSION)
    expect(requests[0]?.headers.has('authorization')).toBe(false)
    expect(requests[1]?.headers.get('authorization')).toBe(`Bearer ${before.token}`)
    expect(requests[3]?.headers.get(SESSION_HEADER)).toBe(before.sessionToken)
  })

  test('it keeps both credentials of a confirmation', async () => {
    const { client, storage, requests } = await signedIn()
    const before = JSON.parse(storage.items.get(key) ?? '')
    await client.api.changePassword({ currentPassword: TEST_PASSWORD, newPassword: 'another long password' })
    const after = JSON.parse(storage.items.get(key) ?? '')
    expect(after.sessionId).toBe(before.sessionId)
    expect(after.token).not.toBe(before.token)
    expect(after.sessionToken).not.toBe(before.sessionToken)
    expect(client.getState()).toMatchObject({ status: 'authenticated', userChanges: 1, error: null })
    await client.api.getSession()
    expect(requests.at(-1)?.headers.get('authorization')).toBe(`Bearer ${after.token}`)
    expect((await client.refresh()).error).toBeNull()
  })

  test('it is signed in again after a restart, without a request', async () => {
    const { storage, userId } = await signedIn()
    const { client, requests } = open(storage)
    expect(client.getState().status).toBe('loading')
    expect((await client.refresh()).userId).toBe(userId)
    expect(requests).toEqual([])
    expect((await client.api.getSession()).user.id).toBe(userId)
  })

  test("it refreshes stored tokens older than the JWT's lifetime first", async () => {
    const { storage, userId, client: first } = await signedIn()
    const kept = JSON.parse(storage.items.get(key) ?? '')
    storage.items.set(key, JSON.stringify({ ...kept, seq: kept.seq - 1_000_000 }))
    const { client, requests } = open(storage)
    expect((await client.api.getSession()).user.id).toBe(userId)
    expect(requests.map(({ path }) => path)).toEqual(['/api/auth/backend/token', '/api/auth/session'])
    await first.signOut()
    expect((await client.refresh()).status).toBe('unauthenticated')
  })

  test.each([
    ['nothing', {}],
    ['invalid JSON', { [key]: 'hello' }],
    ['another format', { [key]: '{"token":1}' }],
    ['null', { [key]: 'null' }],
  ])('with %s in the storage, no user is signed in and no request is sent', async (_what, items) => {
    const { client, requests } = open(openStorage(items))
    expect(await client.refresh()).toMatchObject({ status: 'unauthenticated', userChanges: 0 })
    expect(requests).toEqual([])
  })

  test('an unreadable storage is not a sign-out', async () => {
    const storage = openStorage()
    vi.spyOn(storage, 'getItem').mockRejectedValueOnce(new Error('The keychain is locked'))
    const { client } = open(storage)
    const state = await client.refresh()
    expect(state.status).toBe('unknown')
    expect(state.error).toMatchObject({ code: 'UNKNOWN', message: 'Error: The keychain is locked' })
  })

  test('calls are those of the former user until the tokens of the next are stored', async () => {
    const { client, storage, requests, userId } = await signedIn()
    const next = await auth.createUser()
    const stored = Promise.withResolvers<void>()
    const { setItem } = storage
    vi.spyOn(storage, 'setItem').mockImplementationOnce(async (...item) => {
      await stored.promise
      return setItem(...item)
    })
    const done = client.api.signInEmail({ email: next.email, password: TEST_PASSWORD })
    await soon(() => expect(storage.setItem).toHaveBeenCalled())
    await client.fetch(`${baseUrl}/trpc/me`)
    const sent = requests.at(-1)?.headers.get('authorization')
    expect(client.getState().userId).toBe(userId)
    expect(sent).toBe(`Bearer ${JSON.parse(storage.items.get(key) ?? '').token}`)
    stored.resolve()
    await done
    expect(client.getState().userId).toBe(next.userId)
    expect(client[clientSession].tokens?.connectionParams().token).not.toBe(sent?.replace('Bearer ', ''))
  })

  test('a sign-in whose tokens cannot be stored fails, and the former user stays signed in', async () => {
    const { client, storage, userId } = await signedIn()
    const next = await auth.createUser()
    vi.spyOn(storage, 'setItem').mockRejectedValueOnce(new Error('The disk is full'))
    const signIn = client.api.signInEmail({ email: next.email, password: TEST_PASSWORD })
    const name = 'AuthClientError'
    await expect(signIn).rejects.toMatchObject({ name, code: 'UNKNOWN', message: 'Error: The disk is full' })
    expect(client.getState().userId).toBe(userId)
    expect(client[clientSession].tokens?.connectionParams().token).toBe(
      JSON.parse(storage.items.get(key) ?? '').token,
    )
  })

  test('signing out and a session that has ended work if the storage fails to remove the tokens', async () => {
    const error = new Error('The keychain is locked')
    const { client, storage } = await signedIn()
    vi.spyOn(storage, 'removeItem').mockRejectedValue(error)
    expect((await client.signOut()).status).toBe('unauthenticated')
    expect((await client.refresh()).status).toBe('unauthenticated')

    const other = await signedIn()
    vi.spyOn(other.storage, 'removeItem').mockRejectedValue(error)
    await revokeSession(other.client.getState().sessionId ?? '', auth.database)
    expect((await other.client.refresh()).status).toBe('unauthenticated')
  })

  test('tRPC calls carry the JWT, and never the session token', async () => {
    const { client, requests, storage } = await signedIn()
    await client.fetch(`${baseUrl}/trpc/me`, { headers: { 'content-type': 'application/json' } })
    const { headers } = requests.at(-1) ?? {}
    expect(headers?.get('authorization')).toBe(`Bearer ${JSON.parse(storage.items.get(key) ?? '').token}`)
    expect(headers?.get('x-sallyport')).toBe('1')
    expect(headers?.get('content-type')).toBe('application/json')
    expect(headers?.has(SESSION_HEADER)).toBe(false)
  })

  test("a late response to the previous user doesn't replace the next user's tokens", async () => {
    const script = scriptFetch()
    const storage = openStorage()
    const client = createAuthClient<typeof auth.api>({
      baseUrl,
      transport: bearer(storage),
      fetch: script.fetch,
    })
    const own = (userId: string) =>
      tokens({ userId, sessionId: `${userId}-1`, token: `JWT of ${userId}`, sessionToken: userId })
    const signIn = () => client.api.signInEmail({ email: 'a@b.c', password: 'x' })
    script.answer('/sign-in/email', () => own('ada'))
    await signIn()
    const late = Promise.withResolvers<Response>()
    script.answer('/backend/token', () => late.promise)
    script.answer('/sign-in/email', () => own('grace'))
    const done = Promise.all([client.refresh(), signIn()])
    await new Promise((resolve) => setTimeout(resolve, 10))
    late.resolve(own('ada'))
    await done
    expect(client.getState()).toMatchObject({ userId: 'grace' })
    const kept = JSON.parse(storage.items.get(key) ?? '')
    expect(kept).toMatchObject({ userId: 'grace', token: 'JWT of grace', sessionToken: 'grace' })
  })

  test('a server that responds with cookies causes an error that says what to do', async () => {
    const script = scriptFetch()
    script.answer('/sign-in/email', () => tokens())
    const { api, getState } = createAuthClient<typeof auth.api>({
      baseUrl,
      transport: bearer(openStorage()),
      fetch: script.fetch,
    })
    await expect(api.signInEmail({ email: 'a@b.c', password: 'x' })).rejects.toMatchObject({
      code: 'BEARER_DISABLED',
    })
    expect(getState().userId).toBeNull()
  })
})

describe('with cookies', () => {
  test("tRPC calls carry the header that a form of another site can't send", async () => {
    const script = scriptFetch()
    script.answer('/trpc/me', () => rejection(401, 'TOKEN_MISSING'))
    const client = createAuthClient({ baseUrl, fetch: script.fetch })
    await client.fetch(new Request(`${baseUrl}/trpc/me`, { headers: { 'trpc-accept': 'application/jsonl' } }))
    await client.fetch(`${baseUrl}/trpc/me`, { headers: { accept: 'text/event-stream' }, signal: undefined })
    for (const { headers, init } of script.sent) {
      expect(headers.get('x-sallyport')).toBe('1')
      expect(headers.has('authorization')).toBe(false)
      expect(init.credentials).toBe('include')
    }
    expect(script.sent[0]?.headers.get('trpc-accept')).toBe('application/jsonl')
    expect(script.sent[1]?.headers.get('accept')).toBe('text/event-stream')
    expect(client[clientSession].tokens).toBeUndefined()
  })
})
