import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { createAuthContext } from '@sallyport/trpc'
import { createServerAuth, type PageOptions, type PageRequest, type ServerAuth } from '@sallyport/trpc/ssr'
import { createTestClock } from '../../../core/src/testing/instruments.ts'
import { outcomeOf } from '../support/outcome.ts'
import { type AppContext, createCaller } from '../support/router.ts'
import { createStage, type Stage } from '../support/stage.ts'

/** The states of the token endpoint. */
export const ENDPOINTS = ['up', '503', 'down', 'slow'] as const
export type EndpointState = (typeof ENDPOINTS)[number]

/** The two ways to call the token endpoint. */
export const SOURCES = ['in this process', 'elsewhere'] as const
export type Source = (typeof SOURCES)[number]

/** The URL of a scene's pages. */
const PAGE_URL = 'http://localhost:3000/notes?page=2'

/** An app that renders pages, and its auth server. */
export interface Scene {
  readonly auth: TestAuth
  readonly stage: Stage
  endpoint: EndpointState
  /** The requests to the token endpoint. */
  readonly asked: { readonly request: Request; readonly remoteAddress: string | undefined }[]
  /** The causes that `onFailure` received. */
  readonly errors: unknown[]
  serverAuth(request: PageRequest, options?: PageOptions): Promise<ServerAuth>
  /** Creates the context of the app's procedures for a page's headers. */
  context(headers: Headers): AppContext
  /** Calls the guarded procedure `me` on a page. Resolves to the user, or the reason. */
  me(page: ServerAuth): Promise<unknown>
  close(): Promise<void>
}

export async function createScene(
  source: Source = 'in this process',
  options: Parameters<typeof createTestAuth<readonly []>>[0] = {},
): Promise<Scene> {
  // A JWT's times are whole seconds.
  const clock = createTestClock(new Date('2026-11-21T10:00:00.000Z'))
  const auth = await createTestAuth({ clock, onFailure: () => {}, ...options })
  // An auth server with a closed database, which can decide nothing.
  const helpless = await createTestAuth({ onFailure: () => {} })
  await helpless.close()
  const stage = createStage(() => Promise.resolve())
  const authContext = createAuthContext(auth.config)

  async function answer(request: Request, remoteAddress: string | undefined): Promise<Response> {
    scene.asked.push({ request, remoteAddress })
    if (scene.endpoint === 'slow') return new Promise(() => {})
    if (scene.endpoint === 'down') throw new TypeError('fetch failed')
    return (scene.endpoint === '503' ? helpless : auth).handler(request, { remoteAddress })
  }

  const open = (timeoutMs: number) =>
    createServerAuth({
      config: { ...auth.config, onFailure: ({ cause }) => void scene.errors.push(cause) },
      token:
        source === 'in this process'
          ? (request, { remoteAddress } = {}) => answer(request, remoteAddress)
          : {
              url: 'https://auth.example.com/',
              fetch: (input, init) => answer(new Request(input, init), undefined),
            },
      timeoutMs,
    })
  const patient = open(5_000)
  // For an endpoint that never responds, so tests don't wait for it.
  const impatient = open(1)
  const scene: Scene = {
    auth,
    stage,
    endpoint: 'up',
    asked: [],
    errors: [],
    serverAuth: (request, options) => (scene.endpoint === 'slow' ? impatient : patient)(request, options),
    context: (headers) => ({ ...authContext.headers(headers), db: auth.db, stage }),
    async me(page) {
      const call = page.call((headers) => createCaller(scene.context(headers)).me())
      const { data, rejection } = await outcomeOf(call)
      return rejection === null ? data : rejection.auth?.reason
    },
    close: auth.close,
  }
  return scene
}

/** Creates the request of a browser that opens a page by its address. */
export function pageRequest(cookie: string | null, init: RequestInit = {}): Request {
  const headers = new Headers({
    'sec-fetch-site': 'none',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    'accept-language': 'en',
    ...(cookie !== null && { cookie }),
  })
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
  return new Request(PAGE_URL, { ...init, headers })
}

/** The states of a browser's JWT. */
export const JWTS = ['valid', 'about to expire', 'expired', 'missing', 'garbage'] as const
export type Jwt = (typeof JWTS)[number]

/**
 * Returns the cookies of a browser that has just signed in, with one of another site. `about to expire` moves
 * the clock.
 */
export async function cookieWith(jwt: Jwt, { auth }: Scene, session: TestSession): Promise<string> {
  const { cookies, jwtLifetimeSeconds } = auth.config
  if (jwt === 'about to expire') auth.clock.advance(jwtLifetimeSeconds - 10)
  const sessionPair = `${cookies.session}=${session.sessionCookie}`
  const expired = await auth.expireJwt(session)
  const pairs = {
    valid: [session.cookie],
    'about to expire': [session.cookie],
    expired: [expired.cookie],
    missing: [sessionPair],
    garbage: [`${cookies.jwt}=garbage`, sessionPair],
  }
  return ['theme=dark', ...pairs[jwt]].join('; ')
}
