// A Worker that reads the sessions of another library in D1.
import { defineAuthConfig, staticJwks, withAuthStore } from '@sallyport/core'
import { type D1Client, openSqliteStore } from '@sallyport/core/sqlite'
import { createAuthContext, createHandler, type Handler } from '@sallyport/trpc'
import { appRouter } from './d1-router.ts'

interface Env {
  readonly BASE_URL: string
  readonly JWKS: string
  readonly DB: D1Client
}

interface Execution {
  waitUntil(promise: Promise<unknown>): void
}

const mapping = {
  dates: 'milliseconds',
  session: { columns: { lastAuthenticatedAt: 'createdAt' } },
} as const

let opening: Promise<Handler> | undefined

async function open({ BASE_URL, JWKS, DB }: Env): Promise<Handler> {
  const config = defineAuthConfig({ baseUrl: BASE_URL, jwks: staticJwks(JWKS) })
  const context = createAuthContext(config)
  const db = withAuthStore({}, await openSqliteStore({ client: DB }, { mapping }))
  return createHandler({
    config,
    router: appRouter,
    createContext: (options) => ({ ...context.http(options), db }),
  })
}

export default {
  async fetch(request: Request, env: Env, execution: Execution): Promise<Response> {
    opening ??= open(env)
    // Other requests use it too, even if the client of this one disconnects.
    execution.waitUntil(opening)
    const handle = await opening
    return handle(request, { remoteAddress: request.headers.get('cf-connecting-ip') ?? undefined })
  },
}
