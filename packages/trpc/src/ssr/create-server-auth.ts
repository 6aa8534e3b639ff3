import type { AuthConfig } from '@sallyport/core'
import { MAX_TIMER_MS, proxyTrustOf, requirePositive } from '@sallyport/core/internal/server'
import { type PageOptions, type PageRequest, readPage } from './page-request.ts'
import { type PageServer, resolveUser } from './resolve-user.ts'
import { openServerAuth, type ServerAuth } from './server-auth.ts'
import { createFetchToken, type TokenSource } from './token-source.ts'

export interface ServerAuthOptions {
  readonly config: AuthConfig
  /** The source of JWTs: `auth.handler`, or `{ url }` if the auth server is another process. */
  readonly token: TokenSource
  /** Milliseconds to wait for the token endpoint. @default 5_000 */
  readonly timeoutMs?: number
}

/**
 * Creates the function that resolves the user of a page by Step 1, with the JWT in the cookie or one from the
 * token endpoint. It never rejects, and fetches at most one JWT per request. The router runs Step 2.
 *
 * @throws ConfigurationError if `token.url` or `timeoutMs` is invalid
 * @example
 * const serverAuth = createServerAuth({ config: authConfig, token: auth.handler })
 * const page = await serverAuth(request, { remoteAddress })
 * await page.prefetch(queryClient, [trpc.notes.list.queryOptions()])
 */
export function createServerAuth({
  config,
  token,
  timeoutMs = 5_000,
}: ServerAuthOptions): (request: PageRequest, options?: PageOptions) => Promise<ServerAuth> {
  requirePositive('timeoutMs', timeoutMs, MAX_TIMER_MS)
  const fetchToken = createFetchToken(token, { config, timeoutMs })
  const server: PageServer = { config, fetchToken }
  const trustsProxy = proxyTrustOf(config)
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
