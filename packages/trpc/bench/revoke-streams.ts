import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { AuthConfig } from '@sallyport/core'
import { createAuthContext, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { firstMessage } from '../../core/test/support/first-message.ts'
import type { AppDatabase } from '../test/revocation/open-database.ts'
import type { SignedIn } from '../test/revocation/signed-in-users.ts'
import { watchTurns } from './watch-turns.ts'

const t = initTRPC.context<DatabaseContext>().create()
const router = t.router({
  clock: t.procedure.use(sessionMiddleware).subscription(async function* ({ ctx }) {
    yield 'first'
    await new Promise((resolve) => ctx.auth.signal.addEventListener('abort', resolve, { once: true }))
  }),
})

interface Installation {
  readonly url: string
  readonly db: AppDatabase['db']
  readonly config: AuthConfig
}

/** Where the commit is made. */
export type Place = 'this process' | 'another process'

/**
 * Opens a stream for each of these sessions, through the guard but without sockets: they would take more time
 * than the guard. Deletes all sessions in one commit, and prints when the last stream has ended.
 */
export async function revokeStreams(
  title: string,
  { place, people, ...installation }: Installation & { place: Place; people: readonly SignedIn[] },
): Promise<void> {
  const ends = await openStreams(people, installation)
  const remove = place === 'this process' ? removeHere(installation) : await removeElsewhere(installation)
  globalThis.gc?.()
  const stopWatching = watchTurns()
  const startedAt = now()
  const [acknowledgedAt, endedAt] = await Promise.all([remove(), Promise.all(ends)])
  const { longest, above10, total } = stopWatching()
  const lastAt = endedAt.reduce((last, at) => Math.max(last, at), 0)
  const [commitMs, lastMs] = [acknowledgedAt - startedAt, lastAt - acknowledgedAt].map((ms) => ms.toFixed(0))
  console.log(
    `${title}, revoked by ${place}: commit ${commitMs} ms, last stream ended ${lastMs} ms later; turns: longest ${longest.toFixed(1)}, above 10 ms ${above10}, in all ${total.toFixed(0)}`,
  )
}

/** Resolves when every stream has begun, with promises of the times when they end. */
async function openStreams(people: readonly SignedIn[], { db, config }: Installation) {
  const context = createAuthContext(config, { db })
  const createCaller = t.createCallerFactory(router)
  const ends: Promise<number>[] = []
  for (const { cookie } of people) {
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const stream = await createCaller({ ...context.headers(headers), db }).clock()
    const values = stream[Symbol.asyncIterator]()
    await values.next()
    const ended = values.next().then(failUnlessRevoked, failUnlessRevoked)
    ends.push(ended)
  }
  return ends
}

function failUnlessRevoked(end: unknown): number {
  if (end instanceof TRPCError && end.code === 'UNAUTHORIZED') return now()
  throw new Error('A stream of this bench ended without a rejection', { cause: end })
}

/** Milliseconds on a clock that processes share. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

function removeHere({ db }: Installation) {
  return async () => {
    await db.deleteFrom('session').execute()
    return now()
  }
}

async function removeElsewhere({ url }: Installation) {
  const child = fork(fileURLToPath(new URL('delete-sessions.ts', import.meta.url)), [url], { execArgv: [] })
  await firstMessage(child)
  return () => {
    const acknowledged = firstMessage<number>(child)
    child.send('delete')
    return acknowledged
  }
}
