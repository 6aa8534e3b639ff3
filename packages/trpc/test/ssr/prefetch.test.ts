import type { TestSession } from '@sallyport/core/testing'
import type { ServerAuth } from '@sallyport/trpc/ssr'
import {
  dehydrate,
  hydrate,
  infiniteQueryOptions,
  QueryCache,
  QueryClient,
  queryOptions,
} from '@tanstack/react-query'
import { createTRPCClient, httpLink } from '@trpc/client'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { type AppRouter, appRouter } from '../support/router.ts'
import { cookieWith, createScene, pageRequest } from './scene.ts'

const scene = await createScene()
const userId = (await scene.auth.createUser()).userId
let session: TestSession
beforeEach(async () => {
  scene.endpoint = 'up'
  scene.asked.length = 0
  scene.stage.runs.length = 0
  scene.stage.openGate()
  await scene.auth.db.updateTable('user').set({ banned: false }).execute()
  session = await scene.auth.signIn({ userId })
})
afterAll(() => scene.close())

/** Returns what a page is rendered with. */
async function openPage(jwt: Parameters<typeof cookieWith>[0] = 'valid', queryClient = new QueryClient()) {
  const page = await scene.serverAuth(pageRequest(await cookieWith(jwt, scene, session)))
  return { page, queryClient, trpc: routerProxy(page, queryClient) }
}

/** Creates a proxy for the app's router, with the page's user at the time of each call. */
const routerProxy = (page: ServerAuth, queryClient: QueryClient) =>
  createTRPCOptionsProxy({ router: appRouter, ctx: () => scene.context(page.headers), queryClient })

/** Dehydrates everything, with any settings of the app. */
const everything = (queryClient: QueryClient) =>
  dehydrate(queryClient, { shouldDehydrateQuery: () => true, shouldRedactErrors: () => false }).queries

test("a page's queries are run by the router in this process, and hydrate under the same keys", async () => {
  const { page, queryClient, trpc } = await openPage()
  await page.prefetch(queryClient, [trpc.me.queryOptions(), trpc.named.queryOptions({ name: 'ada' })])

  const inBrowser = new QueryClient()
  hydrate(inBrowser, JSON.parse(JSON.stringify(dehydrate(queryClient))))
  const client = createTRPCClient<AppRouter>({ links: [httpLink({ url: '/trpc' })] })
  const proxy = createTRPCOptionsProxy<AppRouter>({ client, queryClient: inBrowser })
  expect(inBrowser.getQueryData(proxy.me.queryKey())).toBe(userId)
  expect(inBrowser.getQueryData(proxy.named.queryKey({ name: 'ada' }))).toBe('ada')
})

describe('a query that fails', () => {
  test.each(['SESSIONS_UNAVAILABLE', 'TOKEN_EXPIRED', 'an error of the app'])(
    'leaves nothing behind and throws nothing: %s',
    async (failure) => {
      const failures: string[] = []
      const queryCache = new QueryCache({ onError: ({ message }) => failures.push(message) })
      if (failure === 'TOKEN_EXPIRED') scene.endpoint = 'down'
      const { page, queryClient, trpc } = await openPage(
        failure === 'TOKEN_EXPIRED' ? 'expired' : 'valid',
        new QueryClient({ queryCache }),
      )
      const failing = {
        SESSIONS_UNAVAILABLE: trpc.gone.queryOptions({ seconds: 1 }),
        TOKEN_EXPIRED: trpc.me.queryOptions(),
        'an error of the app': trpc.crash.queryOptions(),
      }[failure]
      if (failing === undefined) throw new TypeError(failure)
      await page.prefetch(queryClient, [failing, trpc.health.queryOptions()])
      expect(everything(queryClient).map(({ state }) => state.data)).toEqual(['ok'])
      expect(failures).toHaveLength(1)
    },
  )

  test("is not retried, whatever the app's browser settings", async () => {
    const queryClient = new QueryClient({ defaultOptions: { queries: { retry: 3, retryDelay: 0 } } })
    const { page, trpc } = await openPage('valid', queryClient)
    await page.prefetch(queryClient, [trpc.gone.queryOptions()])
    expect(scene.stage.runs).toEqual(['gone'])
  })

  test('removes its earlier data', async () => {
    const { page, queryClient } = await openPage()
    const failing = queryOptions({
      queryKey: ['notes'],
      queryFn: (): Promise<string> => Promise.reject(new Error()),
    })
    queryClient.setQueryData(failing.queryKey, 'old notes')
    await page.prefetch(queryClient, [failing])
    expect(everything(queryClient)).toEqual([])
  })
})

test('infinite queries are fetched as such', async () => {
  const { page, queryClient } = await openPage()
  const pages = infiniteQueryOptions({
    queryKey: ['pages'],
    queryFn: ({ pageParam }) => `page ${pageParam}`,
    initialPageParam: 1,
    getNextPageParam: () => 2,
  })
  await page.prefetch(queryClient, [pages])
  expect(queryClient.getQueryData(pages.queryKey)).toEqual({ pages: ['page 1'], pageParams: [1] })
})

test('a JWT that expires during the request is replaced: the second attempt has a fresh one', async () => {
  const { page, queryClient, trpc } = await openPage()
  scene.auth.clock.advance(901)
  const queries = [trpc.me.queryOptions(), trpc.secret.queryOptions(), trpc.peek.queryOptions()]
  await page.prefetch(queryClient, queries)
  expect(everything(queryClient).map(({ state }) => state.data)).toEqual([
    userId,
    session.sessionId,
    session.sessionId,
  ])
  expect([page.state.status, scene.asked.length]).toEqual(['authenticated', 1])
})

describe('when the session turns out to have ended', () => {
  test('earlier and pending data is removed', async () => {
    const { page, queryClient, trpc } = await openPage()
    await page.prefetch(queryClient, [trpc.me.queryOptions()])
    expect(everything(queryClient)).toHaveLength(1)

    scene.stage.closeGate()
    const slow = queryOptions({
      queryKey: ['slow'],
      queryFn: async () => {
        await scene.stage.gate
        return userId
      },
    })
    const onItsWay = page.prefetch(queryClient, [slow])
    await scene.auth.revoke(session)
    await page.prefetch(queryClient, [trpc.secret.queryOptions()])
    expect(everything(queryClient)).toEqual([])
    scene.stage.openGate()
    await onItsWay
    expect(everything(queryClient)).toEqual([])
    expect(page.state).toEqual({ status: 'unauthenticated' })
  })

  test('a regular call removes the data too', async () => {
    const { page, queryClient, trpc } = await openPage()
    await page.prefetch(queryClient, [trpc.me.queryOptions()])
    await scene.auth.revoke(session)
    await scene.me(page)
    await page.prefetch(queryClient, [trpc.health.queryOptions()])
    expect(everything(queryClient)).toEqual([])
  })
})

describe.each([
  ['the session is over', 'unauthenticated', (session: TestSession) => scene.auth.revoke(session)],
  ['the user is banned', 'unknown', (session: TestSession) => scene.auth.ban(session)],
] as const)('when %s', (_what, status, bringAbout) => {
  test.each(['a call', 'a prefetch', 'the token endpoint'])(
    'the data is removed from every client of the page even if %s learns of it last',
    async (who) => {
      const { page, queryClient, trpc } = await openPage()
      const second = new QueryClient()
      await page.prefetch(queryClient, [trpc.me.queryOptions()])
      await page.prefetch(second, [trpc.whoami.queryOptions()])
      expect([everything(queryClient).length, everything(second).length]).toEqual([1, 1])
      await bringAbout(session)
      if (who === 'the token endpoint') scene.auth.clock.advance(901)
      if (who === 'a prefetch') await page.prefetch(new QueryClient(), [trpc.secret.queryOptions()])
      else await scene.me(page)
      expect([everything(queryClient), everything(second)]).toEqual([[], []])
      expect(page.state).toMatchObject({ status })
    },
  )

  test('the data of a prefetch that ends after a call learned of it is removed too', async () => {
    const { page, queryClient, trpc } = await openPage()
    scene.stage.closeGate()
    const late = page.prefetch(queryClient, [
      queryOptions({
        queryKey: ['late'],
        queryFn: async () => {
          await scene.stage.gate
          // As an app does that caches a response's extra data.
          queryClient.setQueryData(['rows'], userId)
          return userId
        },
      }),
      trpc.health.queryOptions(),
    ])
    await bringAbout(session)
    await scene.me(page)
    scene.stage.openGate()
    await late
    expect(everything(queryClient)).toEqual([])
    expect(page.state).toMatchObject({ status })
  })
})

test('while the user is unknown, the data stays', async () => {
  const { page, queryClient, trpc } = await openPage()
  await page.prefetch(queryClient, [trpc.me.queryOptions()])
  scene.auth.clock.advance(901)
  scene.endpoint = '503'
  expect(await scene.me(page)).toBe('TOKEN_EXPIRED')
  expect(everything(queryClient).map(({ state }) => state.data)).toEqual([userId])
  expect(page.state).toEqual({ status: 'unknown' })
})

test('an anonymous visitor sees public data', async () => {
  const queryClient = new QueryClient()
  const page = await scene.serverAuth(pageRequest(null))
  const trpc = routerProxy(page, queryClient)
  await page.prefetch(queryClient, [
    trpc.health.queryOptions(),
    trpc.whoami.queryOptions(),
    trpc.me.queryOptions(),
  ])
  expect(everything(queryClient).map(({ state }) => state.data)).toEqual(['ok', null])
})
