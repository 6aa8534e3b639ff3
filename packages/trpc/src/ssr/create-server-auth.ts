import type { AuthConfig } from '@sallyport/core'
import { requirePositive, safeListener, trustProxies } from '@sallyport/core/internal/server'
import { type PageOptions, type PageRequest, readPage } from './page.ts'
import { type PageServer, resolveUser } from './resolve-user.ts'
import { openServerAuth, type ServerAuth } from './server-auth.ts'
import { createFetchToken, type TokenSource } from './token-source.ts'

export interface ServerAuthOptions {
  readonly config: AuthConfig
  /** Where JWTs come from: `auth.handler`, or `{ url }` if the auth server is another process. */
  readonly token: TokenSource
  /** Of the token endpoint. @default 5_000 */
  readonly timeoutMs?: number
  /** Receives why the user is unknown: a network error, or a JWT that was rejected here. @default console.error */
  readonly onError?: (error: unknown) => void
}

/**
 * Creates the function that resolves the user of a page by Step 1, with the JWT in the cookie or one from the token
 * endpoint; the router runs Step 2. The function never rejects, and requests at most one JWT per request.
 *
 * @throws ConfigurationError if `token.url` or `timeoutMs` can't work
 * @example
 * const serverAuth = createServerAuth({ config: authConfig, token: auth.handler })
 * const page = await serverAuth(request, { remoteAddress })
 * await page.prefetch(queryClient, [trpc.notes.list.queryOptions()])
 */
export function createServerAuth({
  config,
  token,
  timeoutMs = 5_000,
  onError = console.error,
}: ServerAuthOptions): (request: PageRequest, options?: PageOptions) => Promise<ServerAuth> {
  const server: PageServer = {
    config,
    fetchToken: createFetchToken(token, { config, timeoutMs: requirePositive('timeoutMs', timeoutMs) }),
    onError: safeListener(onError),
  }
  const trustsProxy = trustProxies(config.trustedProxies)
  const cache = new WeakMap<PageRequest, Promise<ServerAuth>>()

  async function open(request: PageRequest, options: PageOptions): Promise<ServerAuth> {
    const page = readPage(request, options, { config, trustsProxy })
    return openServerAuth(page, await resolveUser(page, server), server)
  }

  return (request, options = {}) => {
    const auth = cache.get(request) ?? open(request, options)
    cache.set(request, auth)
    return auth
  }
}
