import {
  type AuthConfig,
  authenticate,
  ConfigurationError,
  type OriginRequest,
  type Session,
} from '@sallyport/core'
import {
  hashSecret,
  prepareTokens,
  readCredentials,
  readSigningKeys,
  setCookie,
  type TokenResult,
} from '@sallyport/core/internal/server'
import { adapterStore } from './adapter-store.ts'
import { guardConfig } from './guard-config.ts'
import type { BetterAuthContext } from './instance.ts'
import { createKnownTokens } from './known-tokens.ts'
import { rejectBanned } from './reject-banned.ts'
import { mayReuseIds } from './session-versions.ts'
import { createSource, keepsRows } from './source.ts'
import { storageStore } from './storage-store.ts'

/** Options of `sallyportJwt`. */
export interface SallyportJwtOptions {
  /** The configuration of the processes that verify the JWTs, with `sessionCookie`. */
  readonly config: AuthConfig
  /** `SIGNING_KEYS`, or the `signingKeys` of `openKeyFile`; or a function that returns them. */
  readonly signingKeys: unknown
}

/** Issues the JWT of the session that Better Auth's cookie names. */
export interface JwtIssuer {
  /** Runs both steps. @throws AuthError like `authenticate` */
  check(request: OriginRequest, kind: 'token' | 'query'): Promise<Session>
  /** Runs both steps, and issues a JWT that is bound to the cookie. @throws AuthError like `authenticate` */
  issue(
    request: OriginRequest,
    options: { kind: 'token' | 'query'; remembered: boolean },
  ): Promise<TokenResult>
  /** The `Set-Cookie` value that deletes the JWT. */
  readonly clear: string
}

/** @throws ConfigurationError if the configuration names another cookie, or the keys don't match its JWKS */
export function createJwtIssuer(
  context: BetterAuthContext,
  { config, signingKeys: given }: SallyportJwtOptions,
): JwtIssuer {
  const { name } = context.authCookies.sessionToken
  if (config.sessionCookie !== name)
    throw new ConfigurationError(
      `sallyportJwt: JWTs are bound to Better Auth's session cookie. Set sessionCookie: '${name}' in the configuration.`,
    )
  if (mayReuseIds(context))
    throw new ConfigurationError(
      'sallyportJwt: if the database creates the ids (generateId "serial" or false), SQLite may give the id of a deleted session to a new one, and the JWT of the deleted session would be valid for it. Use text ids.',
    )
  const signingKeys = readSigningKeys(typeof given === 'function' ? given() : given, config)
  if (signingKeys === null)
    throw new ConfigurationError(
      'sallyportJwt: SIGNING_KEYS is not set. Load the variable, or run "npx sallyport keys create".',
    )
  const source = createSource({ options: context.options, $context: Promise.resolve(context) })
  const allowedOrigins = [...config.allowedOrigins]
  const tokens = createKnownTokens()
  const cookieConfig = guardConfig(source, {
    // `config` has checked them.
    allowInsecure: true,
    baseUrl: config.baseUrl,
    allowedOrigins,
    tokens,
  })
  const store = keepsRows(context)
    ? adapterStore(context, config.issuer)
    : storageStore(source, { config, tokens })
  const sessions = rejectBanned(store.sessions, { source, now: () => config.now() })
  const run = (request: OriginRequest, kind: 'token' | 'query') =>
    authenticate(request, kind, { config: cookieConfig, sessions })

  return {
    check: async (request, kind) => (await run(request, kind)).session,
    async issue(request, { kind, remembered }) {
      const { session } = await run(request, kind)
      const isBearer = readCredentials(request.header, cookieConfig).transport === 'bearer'
      const { sessionCookie } = readCredentials(request.header, config)
      const sessionTransport = isBearer ? 'header' : 'cookie'
      const signing = { config, signingKeys, definePayload: () => ({}), sessionTransport } as const
      const issue = await prepareTokens(session, signing)
      const { id, userId, expiresAt } = session
      const cookieHash = isBearer || sessionCookie === null ? null : await hashSecret(sessionCookie.secret)
      const bound = cookieHash !== null && { cookieHash }
      const { body, cookies } = await issue({
        ...{ id, userId, expiresAt, version: 1, remembered, cookie: null },
        ...bound,
      })
      return { body, cookies: isBearer ? [] : cookies }
    },
    clear: setCookie(config.cookies.jwt, '', { maxAgeSeconds: 0, ...config.cookies }),
  }
}
