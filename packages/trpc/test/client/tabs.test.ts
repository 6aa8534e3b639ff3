import { AuthClientError, authLink, createAuthClient } from '@sallyport/trpc/client'
import { createTRPCClient, type TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../../../core/test/support/eventually.ts'
import { clientSession } from '../../src/client/client-session.ts'
import { connectTabs as connect, type TabMessage, type Tabs } from '../../src/client/tabs.ts'
import type { AppRouter } from '../support/router.ts'
import { rejection, scriptFetch, tokens } from '../support/scripted-fetch.ts'

const TOKEN = '/backend/token'

interface Api {
  signInEmail(input: { email: string }): Promise<object>
  deleteUser(): Promise<object>
}

/** The parts of a tab's page that the client uses. */
const page = Object.assign(new EventTarget(), { hidden: false, prerendering: false })

beforeEach(() => {
  vi.stubGlobal('document', page)
  vi.stubGlobal('window', page)
})
afterEach(() => {
  Object.assign(page, { hidden: false, prerendering: false })
  // The page outlives the test, since its listeners are removed afterwards.
  vi.stubGlobal('navigator', navigatorOfNode)
})

const navigatorOfNode = navigator
const channelOfNode = BroadcastChannel

/** Connects tabs, which this environment supports. */
const connectTabs = (name: string) => connect(name) as Required<Tabs>

const superseded = { status: 409, code: 'SECRET_SUPERSEDED', message: 'SECRET_SUPERSEDED' }

/** Long enough for a message to arrive. */
const soon = () => new Promise((resolve) => setTimeout(resolve, 50))

let names = 0
const newName = () => `http://${++names}.example`

/** Opens the clients of several tabs of one browser, with a scripted server. */
function openTabs(count: number) {
  const baseUrl = newName()
  const server = scriptFetch()
  const clients = Array.from({ length: count }, () => {
    const client = createAuthClient<Api>({
      baseUrl,
      fetch: server.fetch,
    })
    onTestFinished(client.subscribe(() => {}))
    return client
  })
  return { baseUrl, server, clients, states: () => clients.map((client) => client.getState()) }
}

const everyone = (status: string) => (states: readonly { status: string }[]) =>
  states.every((state) => state.status === status)

describe('the tabs of a browser', () => {
  test('take turns, even when one fails', async () => {
    const name = newName()
    const order: string[] = []
    const works = ['a', 'b', 'c', 'd', 'e'].map((tab) =>
      connectTabs(name).lock(async () => {
        order.push(`${tab} begins`)
        await new Promise((resolve) => setTimeout(resolve, 5))
        order.push(`${tab} ends`)
        if (tab === 'b') throw new Error('b failed')
        return tab
      }),
    )
    const results = await Promise.allSettled(works)
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ])
    expect(order).toHaveLength(10)
    for (let i = 0; i < 10; i += 2) expect(order[i + 1]).toBe(order[i]?.replace('begins', 'ends'))
  })

  test('request their first JWT once', async () => {
    const { server, states } = openTabs(6)
    server.answer(TOKEN, () => tokens())
    await eventually(() => expect(states()).toSatisfy(everyone('authenticated')))
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(server.count(TOKEN)).toBe(1)
  })

  test('follow a sign-in after the clock was set back, although their JWT seems newer', async () => {
    const { baseUrl, server, clients } = openTabs(1)
    server.answer(TOKEN, () => tokens())
    await eventually(() => expect(clients[0]?.getState().status).toBe('authenticated'))
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000)
    const page = createAuthClient<Api>({
      baseUrl,
      fetch: server.fetch,
      hydrate: { status: 'authenticated', userId: 'ada', sessionId: 'ada-1', expiresIn: 900 },
    })
    onTestFinished(page.subscribe(() => {}))
    await soon()
    clock.mockRestore()
    for (const path of [TOKEN, '/sign-in/email'])
      server.answer(path, () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    await clients[0]?.api.signInEmail({ email: 'grace' })
    await eventually(() => expect(page.getState()).toMatchObject({ userId: 'grace', userChanges: 1 }))
    expect(server.count(TOKEN)).toBe(2)
  })

  test('sign in and out together', async () => {
    const { server, clients, states } = openTabs(3)
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    await eventually(() => expect(states()).toSatisfy(everyone('unauthenticated')))
    server.answer('/sign-in/email', () => tokens())
    await clients[0]?.api.signInEmail({ email: 'ada' })
    await eventually(() => expect(states()).toSatisfy(everyone('authenticated')))
    server.answer('/sign-in/email', () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    await clients[1]?.api.signInEmail({ email: 'grace' })
    await eventually(() => expect(states().map(({ userId }) => userId)).toEqual(['grace', 'grace', 'grace']))
    expect(states().map(({ userChanges }) => userChanges)).toEqual([2, 2, 2])
    server.answer('/sign-out', () => Response.json({ success: true }))
    await clients[2]?.signOut()
    await eventually(() => expect(states()).toSatisfy(everyone('unauthenticated')))
    expect(states().map(({ userChanges }) => userChanges)).toEqual([3, 3, 3])
    expect(server.count('/sign-out')).toBe(1)
  })

  test("make a sign-in wait for the previous user's refresh", async () => {
    const { server, clients, states } = openTabs(2)
    server.answer(TOKEN, () => tokens())
    await eventually(() => expect(states()).toSatisfy(everyone('authenticated')))
    // Until each tab has had its turn and found nothing to request.
    await new Promise((resolve) => setTimeout(resolve, 300))
    const late = Promise.withResolvers<Response>()
    server.answer(TOKEN, () => late.promise)
    server.answer('/sign-in/email', () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    const refreshing = clients[0]?.refresh()
    await eventually(() => expect(server.count(TOKEN)).toBe(2))
    const signingIn = clients[1]?.api.signInEmail({ email: 'grace' })
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(server.count('/sign-in/email')).toBe(0)
    late.resolve(tokens())
    await Promise.all([refreshing, signingIn])
    await eventually(() => expect(states().map(({ userId }) => userId)).toEqual(['grace', 'grace']))
  })
})

test('without Web Locks, tabs sign in and out together, and the calls of one tab take turns', async () => {
  vi.stubGlobal('navigator', {})
  const { server, clients, states } = openTabs(3)
  server.answer(TOKEN, () => tokens())
  await eventually(() => expect(states()).toSatisfy(everyone('authenticated')))
  const late = Promise.withResolvers<Response>()
  server.answer('/sign-in/email', () => late.promise)
  server.answer('/delete-user', () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
  const signingIn = clients[0]?.api.signInEmail({ email: 'grace' })
  const deleting = clients[0]?.api.deleteUser().catch((error: unknown) => error)
  await eventually(() => expect(server.count('/sign-in/email')).toBe(1))
  expect(server.count('/delete-user')).toBe(0)
  late.resolve(tokens({ userId: 'grace', sessionId: 'grace-1' }))
  await signingIn
  expect(await deleting).toMatchObject({ code: 'USER_CHANGED' })
  await eventually(() => expect(states().map(({ userId }) => userId)).toEqual(Array(3).fill('grace')))
  server.answer('/sign-out', () => Response.json({ success: true }))
  await clients[2]?.signOut()
  await eventually(() => expect(states()).toSatisfy(everyone('unauthenticated')))
})

test("a browser's worker follows the tabs", async () => {
  onTestFinished(() => void vi.unstubAllGlobals())
  const { baseUrl, server, clients } = openTabs(1)
  server.answer(TOKEN, () => tokens())
  await eventually(() => expect(clients[0]?.getState().userId).toBe('ada'))
  vi.stubGlobal('document', undefined)
  vi.stubGlobal('WorkerGlobalScope', class {})
  const worker = createAuthClient({ baseUrl, fetch: server.fetch, isServer: false })
  onTestFinished(worker.subscribe(() => {}))
  await eventually(() => expect(worker.getState().userId).toBe('ada'))
  server.answer('/sign-in/email', () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
  await clients[0]?.api.signInEmail({ email: 'grace' })
  await eventually(() => expect(worker.getState().userId).toBe('grace'))
})

test('where the browser denies channels, a tab signs in and out alone', async () => {
  vi.stubGlobal(
    'BroadcastChannel',
    class {
      constructor() {
        throw new DOMException('The operation is insecure', 'SecurityError')
      }
    },
  )
  onTestFinished(() => void vi.stubGlobal('BroadcastChannel', channelOfNode))
  const { server, clients, states } = openTabs(1)
  server.answer('/sign-in/email', () => tokens())
  await clients[0]?.api.signInEmail({ email: 'ada' })
  expect(states()).toMatchObject([{ status: 'authenticated', userId: 'ada' }])
  server.answer('/sign-out', () => Response.json({ success: true }))
  await clients[0]?.signOut()
  expect(states()).toMatchObject([{ status: 'unauthenticated' }])
})

test('where the browser denies Web Locks, tabs sign in and out together', async () => {
  const denied = () => Promise.reject(new DOMException('denied', 'SecurityError'))
  vi.stubGlobal('navigator', { locks: { request: denied, query: denied } })
  const { server, clients, states } = openTabs(2)
  server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
  await eventually(() => expect(states()).toSatisfy(everyone('unauthenticated')))
  server.answer('/sign-in/email', () => tokens())
  await clients[0]?.api.signInEmail({ email: 'ada' })
  await eventually(() => expect(states()).toSatisfy(everyone('authenticated')))
  server.answer('/sign-out', () => Response.json({ success: true }))
  await clients[1]?.signOut()
  await eventually(() => expect(states()).toSatisfy(everyone('unauthenticated')))
})

test.each(['the browser denies Web Locks', 'another tab is frozen'])(
  'where %s, the work of one tab takes turns, even when some fails',
  async (where) => {
    const name = newName()
    const thawed = Promise.withResolvers<void>()
    const frozen = connectTabs(name).lock(() => thawed.promise)
    const waited = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(waited.signal)
    onTestFinished(() => timeout.mockRestore())
    const denied = () => Promise.reject(new DOMException('denied', 'SecurityError'))
    if (where.includes('denies')) vi.stubGlobal('navigator', { locks: { request: denied } })
    const tabs = connectTabs(name)
    const first = Promise.withResolvers<void>()
    const begun: string[] = []
    const failing = tabs.lock(() => {
      begun.push('first')
      return first.promise
    })
    const next = tabs.lock(async () => begun.push('next'))
    expect(timeout.mock.calls).toEqual([[20_000], [20_000]])
    waited.abort()
    await eventually(() => expect(begun).toEqual(['first']))
    first.reject(new Error('failed'))
    await expect(failing).rejects.toThrow('failed')
    await next
    expect(begun).toEqual(['first', 'next'])
    thawed.resolve()
    await frozen
  },
)

test("a tab whose `baseUrl` is empty follows one whose `baseUrl` is the page's origin", async () => {
  const origin = newName()
  vi.stubGlobal('origin', origin)
  const server = scriptFetch()
  server.answer(TOKEN, () => tokens())
  const open = (baseUrl: string) => {
    const client = createAuthClient<Api>({ baseUrl, fetch: server.fetch })
    onTestFinished(client.subscribe(() => {}))
    return client
  }
  const [empty, named] = [open(''), open(origin)]
  await Promise.all([empty.refresh(), named.refresh()])
  server.answer('/sign-out', () => Response.json({ success: true }))
  await named.signOut()
  await eventually(() => expect(empty.getState().status).toBe('unauthenticated'))
})

describe('a message of another tab', () => {
  const open = async () => {
    const { server, clients, baseUrl } = openTabs(1)
    const [client] = clients
    if (client === undefined) throw new TypeError('No client')
    server.answer(TOKEN, () => tokens())
    await client.refresh()
    return { server, client, other: connectTabs(`sallyport ${baseUrl}`) }
  }

  test('about another session changes nothing', async () => {
    const { client, other } = await open()
    await other.post({ sessionId: 'grace-1' })
    await soon()
    expect(client.getState()).toMatchObject({ status: 'authenticated', userChanges: 0 })
    await other.post({ sessionId: 'ada-1' })
    await eventually(() =>
      expect(client.getState()).toMatchObject({ status: 'unauthenticated', userChanges: 1 }),
    )
  })

  test("is not undone by this tab's refresh in flight", async () => {
    const { server, client, other } = await open()
    const late = Promise.withResolvers<Response>()
    server.answer(TOKEN, () => late.promise)
    const refreshing = client.refresh()
    await eventually(() => expect(server.count(TOKEN)).toBe(2))
    await other.post({ sessionId: 'ada-1' })
    await eventually(() => expect(client.getState().status).toBe('unauthenticated'))
    late.resolve(tokens())
    expect(await refreshing).toMatchObject({ status: 'unauthenticated', userChanges: 1 })
  })

  test("about a refresh doesn't cancel a sign-out", async () => {
    const { server, client, other } = await open()
    const late = Promise.withResolvers<Response>()
    server.answer('/sign-out', () => late.promise)
    const done = client.signOut()
    const receipt = { userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq: Date.now() + 1_000 }
    await other.post(receipt)
    await soon()
    expect(client.getState().status).toBe('signing-out')
    late.resolve(Response.json({ success: true }))
    await done
    expect(client.getState().status).toBe('unauthenticated')
  })

  test("about a refresh doesn't delay the next attempt of a sign-out", async () => {
    const { server, client, other } = await open()
    server.answer('/sign-out', () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    const done = client.signOut()
    await eventually(() => expect(client.getState().error).not.toBeNull())
    await other.post({ userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq: Date.now() + 1_000 })
    await soon()
    server.answer('/sign-out', () => Response.json({ success: true }))
    expect(await done).toMatchObject({ status: 'unauthenticated', userChanges: 1 })
  })

  test("about the session that has just ended doesn't revive it if it arrives late", async () => {
    const { server, client, other } = await open()
    server.answer('/sign-out', () => Response.json({ success: true }))
    await client.signOut()
    const receipt = { userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq: Date.now() + 1_000 }
    await other.post(receipt)
    await soon()
    expect(client.getState().status).toBe('unauthenticated')
    await other.post({ ...receipt, sessionId: 'ada-2', isNew: true })
    await eventually(() => expect(client.getState()).toMatchObject({ sessionId: 'ada-2', userChanges: 2 }))
  })

  test("is ignored while a sign-out doesn't know its session", async () => {
    const { server, clients, baseUrl } = openTabs(1)
    const [client] = clients
    const [first, signOut] = [Promise.withResolvers<Response>(), Promise.withResolvers<Response>()]
    server.answer(TOKEN, () => first.promise)
    server.answer('/sign-out', () => signOut.promise)
    const done = client?.signOut()
    const receipt = { userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq: Date.now() + 1_000 }
    await connectTabs(`sallyport ${baseUrl}`).post(receipt)
    await soon()
    expect(client?.getState().status).toBe('signing-out')
    first.resolve(tokens())
    signOut.resolve(Response.json({ success: true }))
    await done
    expect(client?.getState().status).toBe('unauthenticated')
  })

  test("that doesn't name the ended session makes the others check theirs", async () => {
    const { server, client, other } = await open()
    server.answer(TOKEN, () => rejection(401, 'SESSION_EXPIRED'))
    await other.post({ sessionId: null })
    await eventually(() => expect(client.getState().status).toBe('unauthenticated'))
    expect(server.count(TOKEN)).toBe(2)
  })

  test("about another user cancels a sign-out that would end that user's session", async () => {
    const { server, client, other } = await open()
    server.answer('/sign-out', () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    const done = client.signOut()
    await eventually(() => expect(server.count('/sign-out')).toBe(1))
    const receipt = { userId: 'grace', sessionId: 'grace-1', expiresIn: 900, seq: Date.now() + 1_000 }
    await other.post(receipt)
    await eventually(() => expect(client.getState()).toMatchObject({ userId: 'grace', userChanges: 1 }))
    page.dispatchEvent(new Event('focus'))
    expect(await done).toMatchObject({ userId: 'grace', userChanges: 1 })
    expect(server.count('/sign-out')).toBe(1)
  })

  /** Signs Grace in in another tab, whose message arrives after its lock. */
  const signInElsewhere = async (other: ReturnType<typeof connectTabs>) => {
    const late = Promise.withResolvers<void>()
    onTestFinished(other.listen(() => {}))
    const receipt = { userId: 'grace', sessionId: 'grace-1', expiresIn: 900, seq: Date.now() + 1_000 }
    vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockReturnValue(undefined)
    onTestFinished(() => void vi.restoreAllMocks())
    const done = other.lock(async () => {
      await late.promise
      await other.post({ ...receipt, isNew: true })
    })
    return async () => {
      late.resolve()
      await done
    }
  }

  test("isn't needed: the lock alone keeps a sign-out from ending another user's session", async () => {
    const { server, client, other } = await open()
    server.answer('/sign-out', () => Response.json({ success: true }))
    const finish = await signInElsewhere(other)
    const done = client.signOut()
    await soon()
    await finish()
    await done
    expect(server.count('/sign-out')).toBe(0)
    expect(client.getState()).toMatchObject({ userId: 'grace', userChanges: 1 })
  })

  test("isn't needed: the lock alone keeps one user's call from running for another", async () => {
    const { server, client, other } = await open()
    server.answer('/delete-user', () => Response.json({ success: true }))
    const finish = await signInElsewhere(other)
    const done = client.api.deleteUser().catch((error: unknown) => error)
    await soon()
    await finish()
    expect(await done).toMatchObject({ code: 'USER_CHANGED' })
    expect(server.count('/delete-user')).toBe(0)
  })

  test('from long ago is ignored by a newly opened page', async () => {
    const { server, clients, baseUrl } = openTabs(1)
    const other = connectTabs(`sallyport ${baseUrl}`)
    const stop = other.listen(() => {})
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    await eventually(() => expect(clients[0]?.getState().status).toBe('unauthenticated'))
    const receipt = { userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq: Date.now() - 1_000 }
    await other.post(receipt)
    const late = createAuthClient({ baseUrl, fetch: server.fetch })
    onTestFinished(late.subscribe(() => {}))
    await eventually(() => expect(late.getState().status).toBe('unauthenticated'))
    // The tab that shows the session asks too.
    await eventually(() => expect(clients[0]?.getState().status).toBe('unauthenticated'))
    expect(server.count(TOKEN)).toBe(3)
    stop()
    await eventually(async () => expect(await other.latest()).toBeNull())
  })

  test.each([
    { when: 'before', shift: 0, current: 'grace', userChanges: 1 },
    { when: 'before the clock was set back, and', shift: 60_000, current: 'ada', userChanges: 0 },
  ])("from $when a rendered page's script ran makes the page check its session", async (scene) => {
    const { shift, current, userChanges } = scene
    const baseUrl = newName()
    const server = scriptFetch()
    const other = connectTabs(`sallyport ${baseUrl}`)
    onTestFinished(other.listen(() => {}))
    const receipt = { userId: 'grace', sessionId: 'grace-1', expiresIn: 900, seq: Date.now() + shift }
    await other.post({ ...receipt, isNew: true })
    server.answer(TOKEN, () => tokens({ userId: current, sessionId: `${current}-1` }))
    const hydrate = { status: 'authenticated', userId: 'ada', sessionId: 'ada-1', expiresIn: 900 } as const
    const client = createAuthClient({ baseUrl, fetch: server.fetch, hydrate })
    onTestFinished(client.subscribe(() => {}))
    await eventually(() => expect(server.count(TOKEN)).toBe(1))
    await eventually(() => expect(client[clientSession].get().held?.seq).toBeGreaterThan(receipt.seq))
    expect(client.getState()).toMatchObject({ userId: current, userChanges })
  })

  test('is sent once by a rendered page, so tabs of another user learn of the change', async () => {
    const baseUrl = newName()
    const server = scriptFetch()
    server.answer(TOKEN, () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    const messages: TabMessage[] = []
    onTestFinished(connectTabs(`sallyport ${baseUrl}`).listen((message) => messages.push(message)))
    const openPage = (userId: string) => {
      const hydrate = { status: 'authenticated', userId, sessionId: `${userId}-1`, expiresIn: 900 } as const
      const client = createAuthClient({ baseUrl, fetch: server.fetch, hydrate })
      onTestFinished(client.subscribe(() => {}))
      return client
    }
    const former = openPage('ada')
    await eventually(() => expect(messages).toHaveLength(1))
    openPage('ada')
    await soon()
    expect(messages).toHaveLength(1)
    expect(server.sent).toEqual([])
    const client = openPage('grace')
    await eventually(() => expect(former.getState()).toMatchObject({ userId: 'grace', userChanges: 1 }))
    expect(client.getState()).toMatchObject({ userId: 'grace', userChanges: 0 })
    expect(server.sent).toHaveLength(1)
  })

  test('may be lost while a page has no listeners, so with the next one the page requests its user', async () => {
    const server = scriptFetch()
    server.answer(TOKEN, () => tokens())
    const client = createAuthClient<Api>({ baseUrl: newName(), fetch: server.fetch })
    const stop = client.subscribe(() => {})
    await client.refresh()
    stop()
    // React's effects do this.
    client.subscribe(() => {})()
    expect(client[clientSession].get().isStale).toBe(false)
    server.answer(TOKEN, () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_000)
    onTestFinished(() => void vi.restoreAllMocks())
    onTestFinished(client.subscribe(() => {}))
    await client[clientSession].refreshDue()
    expect(client.getState()).toMatchObject({ userId: 'grace', userChanges: 1 })
    expect(server.count(TOKEN)).toBe(2)
  })

  test('is newer even within the same millisecond', async () => {
    vi.spyOn(Date, 'now').mockReturnValue(Date.now())
    onTestFinished(() => void vi.restoreAllMocks())
    const { server, clients, states } = openTabs(2)
    server.answer(TOKEN, () => tokens())
    await eventually(() => expect(states()).toSatisfy(everyone('authenticated')))
    const asGrace = () => tokens({ userId: 'grace', sessionId: 'grace-1' })
    server.answer('/sign-in/email', () => {
      server.answer(TOKEN, asGrace)
      return asGrace()
    })
    await Promise.all([clients[0]?.refresh(), clients[1]?.api.signInEmail({ email: 'grace' })])
    await eventually(() => expect(states().map(({ userId }) => userId)).toEqual(['grace', 'grace']))
  })
})

describe('a superseded secret', () => {
  const newer = { userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq: Date.now() + 600_000 }
  const open = async (count: number) => {
    const opened = openTabs(count)
    const { server, states } = opened
    server.answer(TOKEN, () => tokens())
    await eventually(() => expect(states()).toSatisfy(everyone('authenticated')))
    server.answer('/sign-out', () => Response.json({ success: true }))
    server.answer(TOKEN, () => rejection(409, 'SECRET_SUPERSEDED'))
    server.sent.length = 0
    return opened
  }

  test("signs all tabs out after one tab's attempts: it has the reason, and the others ask the server", async () => {
    const { server, clients, states } = await open(4)
    const late = Promise.withResolvers<Response>()
    server.answer('/sign-out', () => late.promise)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const refreshing = Promise.all(clients.map((client) => client.refresh()))
    for (const [attempt, pause] of [200, 1_000, 3_000].entries()) {
      await vi.waitFor(() => expect(server.count(TOKEN)).toBe(attempt + 1), { timeout: 30_000 })
      await vi.advanceTimersByTimeAsync(pause)
    }
    await vi.waitFor(() => expect(server.count('/sign-out')).toBe(1), { timeout: 30_000 })
    expect(server.count(TOKEN)).toBe(4)
    const reasons = states().filter(({ status }) => status === 'unauthenticated')
    expect(reasons).toMatchObject([{ error: superseded }])
    expect(reasons[0]?.error).toBeInstanceOf(AuthClientError)
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    late.resolve(Response.json({ success: true }))
    await refreshing
    await vi.waitFor(() => expect(states()).toSatisfy(everyone('unauthenticated')), { timeout: 30_000 })
    expect(server.count(TOKEN)).toBeLessThanOrEqual(7)
    expect(server.count('/sign-out')).toBe(1)
  })

  test('is not retried once another tab received newer credentials', async () => {
    const { server, clients, baseUrl } = await open(1)
    const other = connectTabs(`sallyport ${baseUrl}`)
    const refreshing = clients[0]?.refresh()
    await eventually(() => expect(server.count(TOKEN)).toBe(1))
    await other.post({ ...newer, isNew: true })
    expect(await refreshing).toMatchObject({ status: 'authenticated', userChanges: 0, error: null })
    expect(server.count(TOKEN)).toBe(1)
    expect(server.count('/sign-out')).toBe(0)
  })

  test('is that of newer credentials too, if another tab received them but they are due', async () => {
    const { server, clients, baseUrl } = await open(1)
    const messages: TabMessage[] = []
    const other = connectTabs(`sallyport ${baseUrl}`)
    onTestFinished(other.listen((message) => messages.push(message)))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const refreshing = clients[0]?.refresh()
    await vi.waitFor(() => expect(server.count(TOKEN)).toBe(1), { timeout: 30_000 })
    const due = { ...newer, seq: Date.now() + 1, expiresIn: 0 }
    await other.post(due)
    await vi.waitFor(() => expect(clients[0]?.[clientSession].get().held?.seq).toBe(due.seq), {
      timeout: 30_000,
    })
    while (server.count('/sign-out') === 0) await vi.advanceTimersByTimeAsync(1_000)
    expect(await refreshing).toMatchObject({
      status: 'unauthenticated',
      error: { code: 'SECRET_SUPERSEDED' },
    })
    await eventually(() => expect(messages).toEqual([{ sessionId: null }]))
  })

  test("of another tab doesn't sign out a tab with newer credentials", async () => {
    const { clients, baseUrl, server } = await open(1)
    const other = connectTabs(`sallyport ${baseUrl}`)
    await other.post({ ...newer, isNew: true })
    await eventually(() => expect(clients[0]?.[clientSession].get().seq).toBe(newer.seq))
    server.answer(TOKEN, () => tokens())
    await other.post({ sessionId: null })
    await eventually(() => expect(clients[0]?.[clientSession].get().seq).toBeGreaterThan(newer.seq))
    expect(clients[0]?.getState()).toMatchObject({ status: 'authenticated', userChanges: 0 })
    expect(server.sent).toHaveLength(1)
  })

  test('that another tab often replaces is not a refresh loop', async () => {
    const { clients, server } = await open(2)
    const [here, there] = clients
    server.answer('/delete-user', () => tokens())
    for (let change = 0; change < 5; change++) {
      const { seq } = here?.[clientSession].get() ?? { seq: 0 }
      const late = Promise.withResolvers<Response>()
      server.answer('/delete-user', () => late.promise)
      const changing = there?.api.deleteUser()
      await eventually(() => expect(server.count('/delete-user')).toBe(change + 1))
      const rejected = here?.[clientSession].refreshAfter(seq)
      late.resolve(tokens())
      await Promise.all([changing, rejected])
    }
    expect(here?.getState()).toMatchObject({ status: 'authenticated', userChanges: 0, error: null })
    expect(server.count(TOKEN)).toBe(0)
  })

  test("doesn't keep a tab from adopting newer credentials of the same session", async () => {
    const { clients, baseUrl, server } = await open(1)
    const other = connectTabs(`sallyport ${baseUrl}`)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const refreshing = clients[0]?.refresh()
    while (server.count('/sign-out') === 0) await vi.advanceTimersByTimeAsync(1_000)
    expect(await refreshing).toMatchObject({ status: 'unauthenticated' })
    vi.useRealTimers()
    await other.post({ ...newer, seq: 1 })
    await other.post({ ...newer, isNew: true })
    await eventually(() =>
      expect(clients[0]?.getState()).toMatchObject({ status: 'authenticated', userChanges: 2 }),
    )
  })
})

describe('a receipt', () => {
  const receipt = (seq: number) => ({ userId: 'ada', sessionId: 'ada-1', expiresIn: 900, seq })

  test('is available to the next tab before its message, and removed with the tab that has a newer one', async () => {
    const name = newName()
    const [first, second] = [connectTabs(name), connectTabs(name)]
    const messages: TabMessage[] = []
    onTestFinished(first.listen((message) => messages.push(message)))
    onTestFinished(second.listen(() => {}))
    expect(await second.latest()).toBeNull()
    await first.post(receipt(1))
    expect(await second.latest()).toEqual(receipt(1))
    await second.post(receipt(2))
    expect(await first.latest()).toEqual(receipt(2))
    await eventually(() => expect(messages).toEqual([receipt(2)]))
    const held = (await navigator.locks.query()).held ?? []
    expect(held.filter((lock) => lock.name?.startsWith(`${name} `))).toHaveLength(1)
    await first.post({ sessionId: 'ada-1' })
    await eventually(async () => expect(await first.latest()).toBeNull())
  })

  test('from other servers and other names is ignored', async () => {
    const name = newName()
    for (const other of [`${name} bearer`, `${name}0`]) {
      const tabs = connectTabs(other)
      onTestFinished(tabs.listen(() => {}))
      await tabs.post(receipt(1))
      expect(await tabs.latest()).toEqual(receipt(1))
    }
    expect(await connectTabs(name).latest()).toBeNull()
  })
})

describe('a page', () => {
  const open = async () => {
    const { server, clients } = openTabs(1)
    const [client] = clients
    if (client === undefined) throw new TypeError('No client')
    server.answer(TOKEN, () => tokens())
    await client.refresh()
    server.sent.length = 0
    return { server, client }
  }
  const fire = (type: string, more: object = {}) => page.dispatchEvent(Object.assign(new Event(type), more))
  const leave = () => {
    fire('pagehide', { persisted: true })
    page.hidden = true
    fire('visibilitychange')
  }
  const restore = () => {
    leave()
    page.hidden = false
    fire('visibilitychange')
  }

  test.each(['visibilitychange', 'focus', 'online'])(
    'that wakes (%s) retries a missing response, and nothing else',
    async (type) => {
      const { server, client } = await open()
      fire(type)
      await soon()
      expect(server.sent).toEqual([])
      // Without the event, the next attempt would be in ten minutes.
      server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE', { retryAfterSeconds: 600 }))
      await client.refresh()
      server.answer(TOKEN, () => tokens())
      fire(type)
      await eventually(() => expect(client.getState().error).toBeNull())
      expect(server.count(TOKEN)).toBe(2)
    },
  )

  test('in the background sends no request', async () => {
    const { server, client } = await open()
    server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    await client.refresh()
    page.hidden = true
    fire('focus')
    await soon()
    expect(server.count(TOKEN)).toBe(1)
  })

  test('that is restored from the history requests the current user', async () => {
    const { server, client } = await open()
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    restore()
    await eventually(() => expect(client.getState().status).toBe('unauthenticated'))
    server.answer(TOKEN, () => tokens({ sessionId: 'ada-2' }))
    fire('focus')
    await soon()
    expect(client.getState().status).toBe('unauthenticated')
    restore()
    await eventually(() => expect(client.getState().status).toBe('authenticated'))
  })

  test('that is restored from the history in the background requests the current user', async () => {
    const { server, client } = await open()
    server.answer(TOKEN, () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    leave()
    fire('focus')
    // A page that the user leaves may still save something.
    await client[clientSession].refreshDue()
    expect(server.count(TOKEN)).toBe(0)
    page.hidden = false
    fire('visibilitychange')
    await eventually(() => expect(client.getState().userId).toBe('grace'))
  })

  test('that is restored from the history sends no call before it has the current user', async () => {
    const { server, client } = await open()
    const late = Promise.withResolvers<Response>()
    server.answer(TOKEN, () => late.promise)
    restore()
    let isSent = false
    const call = client[clientSession].refreshDue().then(() => {
      isSent = true
    })
    await soon()
    expect(isSent).toBe(false)
    late.resolve(tokens())
    await call
    await client[clientSession].refreshDue()
    expect(server.count(TOKEN)).toBe(1)
  })

  test('that the browser prerenders sends no call before it has the user who opens it', async () => {
    page.prerendering = true
    const opened = Promise.withResolvers<void>()
    const { baseUrl, server } = openTabs(0)
    server.answer(TOKEN, () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
    // Until then, the browser grants no lock.
    const locked = navigator.locks.request(`sallyport ${baseUrl}`, () => opened.promise)
    const client = createAuthClient({ baseUrl, fetch: server.fetch })
    let userId: string | null = null
    const call = client[clientSession].refreshDue().then(() => {
      userId = client.getState().userId
    })
    await soon()
    expect([userId, server.count(TOKEN)]).toEqual([null, 0])
    opened.resolve()
    await Promise.all([locked, call])
    expect(userId).toBe('grace')
  })

  test.each([
    ['the former user', () => tokens()],
    ['a session that has ended', () => rejection(401, 'SESSION_NOT_FOUND')],
    ['an outage', () => rejection(503, 'SESSIONS_UNAVAILABLE')],
  ])(
    'that is restored from the history ignores the response to an earlier refresh: %s',
    async (_what, answer) => {
      const { server, client } = await open()
      const early = Promise.withResolvers<Response>()
      server.answer(TOKEN, () => early.promise)
      const refreshing = client.refresh()
      await eventually(() => expect(server.count(TOKEN)).toBe(1))
      server.answer(TOKEN, () => tokens({ userId: 'grace', sessionId: 'grace-1' }))
      restore()
      const call = client[clientSession].refreshDue()
      early.resolve(answer())
      await call
      expect(client.getState()).toMatchObject({ status: 'authenticated', userId: 'grace', error: null })
      expect(await refreshing).toBe(client.getState())
      expect(server.count(TOKEN)).toBe(2)
    },
  )

  test('that is restored from the history in an outage sends no call, except to sign in or out', async () => {
    const { server, client } = await open()
    const sent: string[] = []
    const lastLink: TRPCLink<AppRouter> = () => (call) =>
      observable((observer) => {
        sent.push(call.op.path)
        observer.next({ result: { data: client.getState().userId } })
        observer.complete()
      })
    const app = createTRPCClient<AppRouter>({ links: [authLink(client), lastLink] })
    server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
    restore()
    const query = app.me.query()
    await eventually(() => expect(client.getState().error).not.toBeNull())
    await expect(app.write.mutate()).rejects.toMatchObject({ data: { httpStatus: 503 } })
    await expect(client.api.deleteUser()).rejects.toMatchObject({ code: 'SESSIONS_UNAVAILABLE' })
    await expect(client.api.signInEmail({ email: 'ada' })).rejects.toMatchObject({ code: 'UNREACHABLE' })
    expect(server.sent.map(({ path }) => path).filter((path) => path !== TOKEN)).toEqual(['/sign-in/email'])
    expect(sent).toEqual([])
    server.answer(TOKEN, () => tokens())
    await client.refresh()
    expect(await query).toBe('ada')
    await app.write.mutate()
    expect(sent).toEqual(['me', 'write'])
  })

  test.each(['authenticated', 'unauthenticated'])(
    'that is restored from the history while %s works again after an outage, without another event',
    async (status) => {
      const { server, client } = await open()
      if (status === 'unauthenticated') {
        server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
        await client.refresh()
      }
      const answer = status === 'authenticated' ? () => tokens() : () => rejection(401, 'SESSION_NOT_FOUND')
      server.answer(TOKEN, () => rejection(503, 'SESSIONS_UNAVAILABLE'))
      restore()
      await eventually(() => expect(client.getState().error).not.toBeNull())
      server.answer(TOKEN, answer)
      await eventually(() => expect(client[clientSession].get().isStale).toBe(false))
      expect(client.getState()).toMatchObject({ status, error: null })
    },
  )

  test.each([
    ['it is online again', () => void fire('online')],
    ['a pause', () => {}],
  ])('without a user retries a failed request after %s', async (_what, wake) => {
    const { server, client } = await open()
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    await client.refresh()
    server.answer(TOKEN, () => Promise.reject(new TypeError('fetch failed')))
    expect(await client.refresh()).toMatchObject({
      status: 'unauthenticated',
      error: { code: 'UNREACHABLE' },
    })
    server.answer(TOKEN, () => rejection(401, 'SESSION_NOT_FOUND'))
    wake()
    await eventually(() =>
      expect(client.getState()).toMatchObject({ status: 'unauthenticated', error: null }),
    )
    const { length } = server.sent
    fire('focus')
    await soon()
    expect(server.sent).toHaveLength(length)
  })

  test('that wakes during a sign-out retries at once', async () => {
    const { server, client } = await open()
    server.answer('/sign-out', () => rejection(503, 'SESSIONS_UNAVAILABLE', { retryAfterSeconds: 600 }))
    const done = client.signOut()
    await eventually(() => expect(client.getState().error).not.toBeNull())
    server.answer('/sign-out', () => Response.json({ success: true }))
    fire('online')
    await done
    expect(client.getState().status).toBe('unauthenticated')
  })
})
