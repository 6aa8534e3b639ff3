import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { createTRPCClient, httpLink } from '@trpc/client'
import type { AppRouter } from '../routers/app.ts'
import type { Experience } from './scenarios.ts'

/** A request of the client and its response. */
export interface Exchange {
  readonly path: string
  readonly status: number
  /** Null if the server accepted the request. */
  readonly reason: string | null
}

/** One call of `me` by the client of the app. */
export interface Call {
  /** Starts with the call itself, as the server responds without a refresh. */
  readonly exchanges: readonly Exchange[]
  /** In the words of the scenario matrix: `401`, or `auto-refresh then 200`. */
  readonly result: string
  readonly experience: Experience
  /** The error that the client shows; null if it shows none. */
  readonly message: string | null
}

/** The user that the client knows. */
export type KnownUser = { readonly userId: string; readonly sessionId: string } | null

/** Calls `me` with the links of the app, which refresh automatically, and records the requests. */
export async function callMe(baseUrl: string, user: KnownUser, send: typeof fetch): Promise<Call> {
  const exchanges: Exchange[] = []
  const authClient = createAuthClient({
    isServer: false,
    baseUrl,
    hydrate:
      user === null
        ? { status: 'unauthenticated' }
        : { status: 'authenticated', ...user, expiresIn: A_FRESH_JWT_SECONDS },
    async fetch(input, init) {
      const response = await send(input, init)
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      exchanges.push({ path: pathname, status: response.status, reason: await reasonOf(response.clone()) })
      return response
    },
  })
  const client = createTRPCClient<AppRouter>({
    links: [authLink(authClient), httpLink({ url: `${baseUrl}/trpc`, fetch: authClient.fetch })],
  })
  const isAnswered = await client.me.query().then(
    () => true,
    () => false,
  )
  // After a rejection, the client may still be asking the server whether the session has ended.
  const { status, error } = authClient.getState()
  if (!isAnswered && status === 'authenticated' && error === null) await authClient.refresh()
  return {
    exchanges,
    ...outcomeOf(exchanges, isAnswered),
    message: authClient.getState().error?.message ?? null,
  }
}

/** A fresh JWT, so the client doesn't refresh before the call. The server rejects the expired one. */
const A_FRESH_JWT_SECONDS = 900

function outcomeOf(
  exchanges: readonly Exchange[],
  isAnswered: boolean,
): { result: string; experience: Experience } {
  const [{ status, reason } = { status: 0, reason: '' }] = exchanges
  if (isAnswered && exchanges.length === 1) return { result: `${status}`, experience: 'Access granted' }
  if (isAnswered)
    return { result: `auto-refresh then ${exchanges.at(-1)?.status}`, experience: 'Transparent' }
  const result = `${status}`
  if (reason === 'ACCOUNT_BANNED') return { result, experience: 'Account banned message' }
  // Without a valid JWT the user isn't signed in.
  return {
    result,
    experience: reason?.startsWith('TOKEN_') ? 'Redirected to login' : 'Logged out on next request',
  }
}

interface Rejection {
  readonly code?: string
  readonly error?: { readonly data: { readonly auth: { readonly reason: string } | null } }
}

async function reasonOf(response: Response): Promise<string | null> {
  if (response.ok) return null
  const { code, error }: Rejection = await response.json()
  return error?.data.auth?.reason ?? code ?? null
}
