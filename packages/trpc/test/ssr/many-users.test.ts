import type { TestSession } from '@sallyport/core/testing'
import { dehydrate, QueryClient } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { afterAll, expect, test } from 'vitest'
import { appRouter } from '../support/router.ts'
import { cookieWith, createScene, pageRequest, type Scene, SOURCES } from './scene.ts'

const scenes = await Promise.all(SOURCES.map((source) => createScene(source)))
afterAll(() => Promise.all(scenes.map((scene) => scene.close())))

/** Lets other work run, for a different time on each call. */
async function dawdle(): Promise<void> {
  for (let turns = Math.random() * 20; turns > 0; turns--) await new Promise(setImmediate)
}

test.each(SOURCES.map((source, index) => ({ source, index })))(
  "fifty pages that are rendered concurrently each have only their own user's data: endpoint $source",
  async ({ index }) => {
    const scene = scenes[index]
    if (scene === undefined) throw new TypeError('There is no such scene')
    const users = await Promise.all(Array.from({ length: 10 }, () => scene.auth.createUser()))
    const jwts = ['valid', 'expired', 'missing', 'garbage', null] as const
    const visits = await Promise.all(
      users.flatMap(({ userId }) => jwts.map(async (jwt) => ({ session: await signIn(scene, userId), jwt }))),
    )

    const pages = await Promise.all(
      visits.map(async ({ session, jwt }) => {
        await dawdle()
        const request = pageRequest(jwt === null ? null : await cookieWith(jwt, scene, session))
        const page = await scene.serverAuth(request)
        const queryClient = new QueryClient()
        const trpc = createTRPCOptionsProxy({
          router: appRouter,
          ctx: async () => {
            await dawdle()
            return scene.context(page.headers)
          },
          queryClient,
        })
        const options = [trpc.me.queryOptions(), trpc.whoami.queryOptions(), trpc.secret.queryOptions()]
        await Promise.all(
          options.map(async (query) => {
            await dawdle()
            await page.prefetch(queryClient, [query])
          }),
        )
        await dawdle()
        const { queries } = dehydrate(queryClient, { shouldDehydrateQuery: () => true })
        const data = queries.map(({ queryKey, state }) => [String(queryKey[0]), state.data]).sort()
        return {
          session,
          jwt,
          state: page.state,
          data,
          all: JSON.stringify([page.setCookies, ...page.headers]),
        }
      }),
    )

    const everyone = visits.map(({ session }) => session)
    for (const { session, jwt, state, data, all } of pages) {
      const { userId, sessionId } = session
      if (jwt === null) {
        expect([state, data]).toEqual([{ status: 'unauthenticated' }, [['whoami', null]]])
      } else {
        expect(state).toMatchObject({ status: 'authenticated', userId, sessionId })
        expect(data).toEqual([
          ['me', userId],
          ['secret', sessionId],
          ['whoami', userId],
        ])
        expect(all).toContain(session.sessionCookie)
      }
      const others = everyone.filter((other) => other !== session)
      expect(
        others.filter((other) => all.includes(other.sessionCookie) || all.includes(other.token)),
      ).toEqual([])
    }
    expect(scene.asked).toHaveLength(users.length * 3)
  },
)

function signIn(scene: Scene, userId: string): Promise<TestSession> {
  return scene.auth.signIn({ userId })
}
