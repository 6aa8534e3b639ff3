import { type AuthDatabase, defineAuthConfig, staticJwks } from '@sallyport/core'
import { issueJwt, parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { createAuthContext, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { keyOf } from '../../../core/bench/many-sessions.ts'

/** Opens a guarded stream of the session with this index, in this process. */
export type OpenStream = (index: number, database: { readonly db: AuthDatabase }) => Promise<Stream>

export interface Stream {
  /** Resolves with the time at which the guard ends the stream. */
  readonly ended: Promise<number>
}

export async function createOpener(): Promise<OpenStream> {
  const { active, publicJwks } = parseSigningKeys({ keys: [await createSigningKey()] })
  const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: staticJwks(publicJwks) })
  const t = initTRPC.context<DatabaseContext>().create()
  const router = t.router({
    stream: t.procedure.use(sessionMiddleware).subscription(async function* ({ ctx: { auth } }) {
      yield 'open'
      await new Promise((resolve) => auth.signal.addEventListener('abort', resolve, { once: true }))
    }),
  })
  const createCaller = t.createCallerFactory(router)
  const context = createAuthContext(config)
  const expiresAt = new Date(Date.now() + 86_400_000)
  const cookies = new Map<number, Promise<string>>()

  /** Issues a JWT once: a hundred thousand take a while. */
  async function issue(index: number): Promise<string> {
    const { sessionId, userId } = keyOf(index)
    const { token } = await issueJwt({ id: sessionId, userId, expiresAt }, { key: active, config })
    return `${config.cookies.jwt}=${token}`
  }

  return async (index, { db }) => {
    const cookie = cookies.get(index) ?? issue(index)
    cookies.set(index, cookie)
    const { auth } = context.headers(new Headers({ cookie: await cookie, [CLIENT_HEADER]: '1' }))
    const stream = await createCaller({ auth, db }).stream()
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const ended = iterator.next().then(
      () => Promise.reject(new Error('A stream ended without an error')),
      () => performance.now(),
    )
    // Awaited later.
    ended.catch(() => {})
    return { ended }
  }
}
