import { type AuthConfig, requirePositive } from '@sallyport/core'
import { trustProxies } from '@sallyport/core/address'
import { safeListener } from '@sallyport/core/service'
import { type PageOptions, type PageRequest, readPage } from './page.ts'
import { openServerAuth, type ServerAuth } from './server-auth.ts'
import { findStanding, type PageServer } from './standing.ts'
import { openTokenSource, type TokenSource } from './token-source.ts'

/** What {@link createServerAuth} takes. */
export interface ServerAuthOptions {
  readonly config: AuthConfig
  /** Where JWTs come from: `auth.handler`, or `{ url }` where the auth server is another process. */
  readonly token: TokenSource
  /** Milliseconds after which the token endpoint is given up. @default 5_000 */
  readonly timeoutMs?: number
  /** Is told why nobody could say who is signed in: a network that fails, a JWT that is refused here. @default console.error */
  readonly onError?: (error: unknown) => void
}

/**
 * Finds out for whom a page is rendered: Step 1 here, by the JWT in the cookie or one from the token endpoint. Step 2 is the router's, in
 * every call. The returned function never rejects, and asks the token endpoint at most once for a request.
 *
 * @throws ConfigurationError where `token.url` or `timeoutMs` cannot work
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
    ask: openTokenSource(token, config),
    timeoutMs: requirePositive('timeoutMs', timeoutMs),
    onError: safeListener(onError),
  }
  const trustsProxy = trustProxies(config.trustedProxies)
  const opened = new WeakMap<PageRequest, Promise<ServerAuth>>()

  async function open(request: PageRequest, options: PageOptions): Promise<ServerAuth> {
    const page = readPage(request, options, { config, trustsProxy })
    return openServerAuth(page, await findStanding(page, server), server)
  }

  return (request, options = {}) => {
    const known = opened.get(request)
    if (known !== undefined) return known
    const auth = open(request, options)
    opened.set(request, auth)
    return auth
  }
}
