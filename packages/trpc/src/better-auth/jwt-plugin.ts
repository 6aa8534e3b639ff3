import { AuthError, isAuthError, type OriginRequest } from '@sallyport/core'
import { ENDPOINTS, isSessionOver, isTokenReason } from '@sallyport/core/internal/protocol'
import {
  isConfigurationError,
  isImpersonated,
  isPrefetch,
  readCredentials,
  reject,
  reportFailure,
  toErrorResponse,
  withCommonHeaders,
} from '@sallyport/core/internal/server'
import type { BetterAuthPlugin } from 'better-auth'
import { createAuthEndpoint, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api'
import { deleteSessionCookie, parseSetCookieHeader } from 'better-auth/cookies'
import type { BetterAuthContext } from './instance.ts'
import { createJwtIssuer, type JwtIssuer, type SallyportJwtOptions } from './jwt-issuer.ts'

export type { SallyportJwtOptions } from './jwt-issuer.ts'

/**
 * Creates a plugin of Better Auth that issues Sallyport's JWTs, for processes without Better Auth's secret.
 * `GET /api/auth/backend/token` responds with a new one. A response that sets or expires the session cookie
 * also sets or expires the JWT. List it after other plugins that set cookies, and before `nextCookies()`.
 *
 * @example
 * const { SIGNING_KEYS: signingKeys } = process.env
 * betterAuth({ database, plugins: [sallyportJwt({ config: authConfig, signingKeys })] })
 */
export function sallyportJwt(options: SallyportJwtOptions): Pick<BetterAuthPlugin, 'id' | 'hooks'> {
  let issuer: JwtIssuer | undefined
  const issuerOf = (context: BetterAuthContext) => {
    issuer ??= createJwtIssuer(context, options)
    return issuer
  }
  const { method, path } = ENDPOINTS.token

  const backendToken = createAuthEndpoint(path, { method, requireHeaders: true }, async (ctx) => {
    const { authCookies, secret } = ctx.context
    const header = (name: string) => ctx.headers.get(name)
    const request = { method, header }
    try {
      if (isPrefetch(header)) throw reject('PREFETCH_REJECTED')
      const tokens = issuerOf(ctx.context)
      const refresh = async () => {
        const session = await tokens.check(request, 'token')
        // Better Auth extends the session when due, in a GET only without `deferSessionRefresh`.
        const settings = ctx.context.options
        const options = { ...settings, session: { ...settings.session, deferSessionRefresh: false } }
        const extending = { ...ctx, context: { ...ctx.context, options } }
        // With a bearer token, it would extend an impersonation.
        if (!isImpersonated(session)) await getSessionFromCtx(extending, { disableCookieCache: true })
        const isForgotten = await ctx.getSignedCookie(authCookies.dontRememberToken.name, secret)
        return tokens.issue(request, { kind: 'token', remembered: !isForgotten })
      }
      const { telemetry } = options.config
      const traced = telemetry === undefined ? refresh() : telemetry.trace({ name: 'refresh' }, refresh)
      const { body, cookies } = await traced
      return respond(200, body, cookies)
    } catch (error) {
      const { status, ...body } = toErrorResponse(withoutToken(error))
      reportFailure(error, { path, step: 'endpoint' }, options.config)
      // Without the cookie, the origin was not checked: another site could sign the user out.
      if (!isSessionOver(body.code) || readCredentials(header, options.config).sessionCookie === null)
        return respond(status, body, [])
      // Better Auth adds the headers of its context to a response.
      deleteSessionCookie(ctx)
      return respond(status, body, [issuerOf(ctx.context).clear])
    }
  })

  const follow = createAuthMiddleware(async (ctx) => {
    const { name } = ctx.context.authCookies.sessionToken
    const cookie = parseSetCookieHeader(ctx.context.responseHeaders?.get('set-cookie') ?? '').get(name)
    if (cookie === undefined) return
    const tokens = issuerOf(ctx.context)
    const request = requestWith(`${name}=${cookie.value}`)
    const remembered = cookie['max-age'] !== undefined
    const { cookies } = await tokens.issue(request, { kind: 'query', remembered }).catch((error) => {
      if (isConfigurationError(error)) throw error
      // The session has expired, or can't be checked now. Delete the JWT of the previous session.
      return { cookies: [tokens.clear] }
    })
    for (const line of cookies) ctx.setHeader('set-cookie', line)
  })

  const plugin = {
    id: 'sallyport-jwt' as const,
    endpoints: { backendToken },
    hooks: { after: [{ matcher: (ctx: { path?: string }) => ctx.path !== path, handler: follow }] },
  }
  return plugin
}

/** Returns a request with only this cookie, which this server has just set. */
function requestWith(cookie: string): OriginRequest {
  return { method: 'GET', header: (name) => (name === 'cookie' ? cookie : null) }
}

/** Returns `SESSION_NOT_FOUND` for a missing or forged session cookie, the only credential here. */
function withoutToken(error: unknown): unknown {
  if (!isAuthError(error) || !isTokenReason(error.reason)) return error
  return new AuthError('SESSION_NOT_FOUND', { cause: error })
}

function respond(status: number, body: object, cookies: readonly string[]): Response {
  const response = withCommonHeaders(Response.json(body, { status }))
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}
