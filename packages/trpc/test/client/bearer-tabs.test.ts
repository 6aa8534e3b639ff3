import { type BearerStorage, bearer, createAuthClient } from '@sallyport/trpc/client'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { clientSession } from '../../src/client/client-session.ts'
import { scriptFetch, tokens } from '../support/scripted-fetch.ts'

interface Api {
  signInEmail(input: { email: string }): Promise<object>
}

beforeEach(() => {
  const page = Object.assign(new EventTarget(), { hidden: false })
  vi.stubGlobal('document', page)
  vi.stubGlobal('window', page)
})

/** Long enough for a message to arrive. */
const soon = () => new Promise((resolve) => setTimeout(resolve, 50))

function openStorage() {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key),
    setItem: (key: string, value: string) => items.set(key, value),
    removeItem: (key: string) => items.delete(key),
  }
}

function open(baseUrl: string, storage: BearerStorage = openStorage()) {
  const server = scriptFetch()
  const client = createAuthClient<Api>({ baseUrl, fetch: server.fetch, transport: bearer(storage) })
  const signIn = (userId: string) => {
    const own = { userId, sessionId: `${userId}-1`, token: 'a JWT', sessionToken: 'a secret' }
    server.answer('/sign-in/email', () => tokens(own))
    return client.api.signInEmail({ email: 'a@b.c' })
  }
  const follow = () => client.subscribe(() => {})
  return { client, server, signIn, follow }
}

test('tabs with bearer tokens follow each other if they share a storage, and show the user of their own tokens if not', async () => {
  const baseUrl = `http://${crypto.randomUUID()}.example`
  const shared = openStorage()
  // The third one keeps its tokens in `sessionStorage`, and the fourth one in memory.
  const tabs = [open(baseUrl, shared), open(baseUrl, shared), open(baseUrl), open(baseUrl)] as const
  for (const { follow } of tabs) onTestFinished(follow())
  await tabs[2].signIn('bob')
  await tabs[0].signIn('ada')
  await eventually(() => expect(tabs[1].client.getState().userId).toBe('ada'))
  await soon()
  expect(tabs.map(({ client }) => client.getState().userId)).toEqual(['ada', 'ada', 'bob', null])
})

test('tabs with bearer tokens put no token into messages and names of locks, also after a reload that mounts twice', async () => {
  const baseUrl = `http://${crypto.randomUUID()}.example`
  const storage = openStorage()
  await open(baseUrl, storage).signIn('ada')
  const seen: unknown[] = []
  const channel = new BroadcastChannel(`sallyport ${baseUrl} bearer`)
  channel.onmessage = ({ data }) => seen.push(data)
  onTestFinished(() => channel.close())
  const { client, follow } = open(baseUrl, storage)
  const stop = follow()
  await eventually(() => expect(client.getState().userId).toBe('ada'))
  stop()
  const stopAgain = follow()
  await soon()
  stopAgain()
  // As if the user had cleared the storage.
  storage.removeItem(`sallyport ${baseUrl}`)
  onTestFinished(follow())
  await eventually(async () =>
    expect(await navigator.locks.query()).toMatchObject({
      held: [{ name: expect.stringContaining('ada-1') }],
    }),
  )
  await soon()
  expect(JSON.stringify(seen)).toMatch('ada-1')
  expect(JSON.stringify([seen, await navigator.locks.query()])).not.toMatch('a secret')
})

test("a tab with bearer tokens learns of another tab's sign-in as such, and sends no token after its sign-out", async () => {
  const baseUrl = `http://${crypto.randomUUID()}.example`
  const shared = openStorage()
  const [here, there] = [open(baseUrl, shared), open(baseUrl, shared)]
  for (const { follow } of [here, there]) onTestFinished(follow())
  const { client, server } = here
  await there.signIn('ada')
  await eventually(() => expect(client.getState().userId).toBe('ada'))
  const { seq, minSeq } = client[clientSession].get()
  expect(minSeq).toBe(seq)
  there.server.answer('/sign-out', () => Response.json({ success: true }))
  await there.client.signOut()
  await eventually(() => expect(client.getState().status).toBe('unauthenticated'))
  server.answer('/trpc', () => Response.json({}))
  await client.fetch(`${baseUrl}/trpc`)
  expect(server.sent.at(-1)?.headers.get('authorization')).toBeNull()
})

test('a sign-out is sent although the tokens of the first refresh are still being stored', async () => {
  const baseUrl = `http://${crypto.randomUUID()}.example`
  const { setItem, ...storage } = openStorage()
  await open(baseUrl, { ...storage, setItem }).signIn('ada')
  // As if the app had been closed since.
  vi.setSystemTime(Date.now() + 3_600_000)
  onTestFinished(() => void vi.useRealTimers())
  const stored = Promise.withResolvers<void>()
  const { client, server } = open(baseUrl, { ...storage, setItem: () => stored.promise })
  server.answer('/backend/token', () => tokens({ token: 'a newer JWT' }))
  server.answer('/sign-out', () => Response.json({ success: true }))
  const refreshing = client.refresh()
  await eventually(() => expect(server.count('/backend/token')).toBe(1))
  await soon()
  const done = client.signOut()
  stored.resolve()
  expect(await refreshing).toMatchObject({ status: 'unauthenticated' })
  expect(await done).toMatchObject({ status: 'unauthenticated' })
  expect(server.count('/sign-out')).toBe(1)
})
