import {
  type AuthConfig,
  type AuthDatabase,
  defineAuthConfig,
  staticJwks,
  withAuthStore,
} from '@sallyport/core'
import { parseSigningKeys, type SigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { openSqliteStore } from '@sallyport/core/sqlite'
import {
  authErrorData,
  createAuthContext,
  type HttpContextOptions,
  optionalSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { type betterAuthGuard, sallyportJwt } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import type { BetterAuthOptions } from 'better-auth'
import { admin, bearer, multiSession } from 'better-auth/plugins'
import type SqliteDatabase from 'better-sqlite3'
import { type CookieFetch, cookieFetch } from '../support/cookie-fetch.ts'
import { createAuth, ORIGIN, PASSWORD } from './create-auth.ts'

export const COOKIE = 'better-auth.session_token'

const t = initTRPC.context<ReturnType<typeof edgeContext>>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const router = t.router({
  me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.email),
  visitor: t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => ctx.user?.email ?? 'anonymous'),
})

function edgeContext(config: AuthConfig, db: AuthDatabase, options: HttpContextOptions) {
  return { ...createAuthContext(config).http(options), db }
}

interface SceneOptions {
  readonly isBearer?: boolean
  readonly session?: NonNullable<BetterAuthOptions['session']>
  /** Opens the other process's Step 2. @default the tables */
  readonly attach?: (auth: Parameters<typeof betterAuthGuard>[0], db: object) => AuthDatabase
}

/** A server with Better Auth's secret, and a process that has only public keys and the tables. */
export async function createJwtScene({ isBearer = false, session = {}, attach }: SceneOptions = {}) {
  const signingKeys = parseSigningKeys({ keys: [await createSigningKey()] })
  const config = configWith(signingKeys, isBearer)
  const { auth, database } = await createAuth({
    rateLimit: { enabled: false },
    session,
    plugins: [
      admin(),
      multiSession(),
      ...(isBearer ? [bearer()] : []),
      sallyportJwt({ config: configWith(signingKeys, isBearer), signingKeys }),
    ],
  })
  const db = attach?.(auth, database) ?? (await readTables(database))

  async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const req = new Request(input, init)
    if (new URL(req.url).pathname.startsWith('/api/auth')) return auth.handler(req)
    const createContext = (o: HttpContextOptions) => edgeContext(config, db, o)
    return fetchRequestHandler({ endpoint: '/trpc', req, router, createContext })
  }

  return {
    auth,
    config,
    database,
    signingKeys,
    db,
    send,
    /** A browser, with the cookies of an earlier one. */
    browse: (cookie = '') =>
      createBrowser(cookieFetch({ 'sec-fetch-site': 'same-origin', origin: ORIGIN }, cookie, send)),
  }
}

async function readTables(client: SqliteDatabase.Database): Promise<AuthDatabase> {
  const mapping = { session: { columns: { lastAuthenticatedAt: 'createdAt' } }, issuer: ORIGIN }
  return withAuthStore({}, await openSqliteStore({ client }, { mapping }))
}

function configWith({ publicJwks }: SigningKeys, isBearer: boolean): AuthConfig {
  const jwks = staticJwks(JSON.stringify(publicJwks))
  return defineAuthConfig({ baseUrl: ORIGIN, jwks, sessionCookie: COOKIE, bearer: isBearer })
}

function createBrowser({ fetch, cookies, header }: CookieFetch) {
  async function call(path: 'me' | 'visitor'): Promise<unknown> {
    const body = await (await fetch(`${ORIGIN}/trpc/${path}`)).json()
    return body.error === undefined ? body.result.data : (body.error.data.auth?.reason ?? body.error.message)
  }

  /** Calls an endpoint of Better Auth. */
  async function post(path: string, body: object = {}): Promise<Response> {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${ORIGIN}/api/auth${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response
  }

  return {
    cookies,
    header,
    fetch,
    post,
    me: () => call('me'),
    visitor: () => call('visitor'),
    token: (headers: Record<string, string> = {}) => fetch(`${ORIGIN}/api/auth/backend/token`, { headers }),
    signUp: (name: string) =>
      post('/sign-up/email', { name, email: `${name}@example.com`, password: PASSWORD }),
    signIn: (name: string, options: object = {}) =>
      post('/sign-in/email', { email: `${name}@example.com`, password: PASSWORD, ...options }),
  }
}
