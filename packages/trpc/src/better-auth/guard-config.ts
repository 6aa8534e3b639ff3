import {
  type AuthConfig,
  type AuthConfigOptions,
  AuthError,
  ConfigurationError,
  defineAuthConfig,
  sessionCookieProof,
} from '@sallyport/core'
import { checkAll } from '@sallyport/core/internal/server'
import { accessOf } from './access.ts'
import type { DatabaseClient } from './find-client.ts'
import type { KnownTokens } from './known-tokens.ts'
import { baseUrlOf, trustedOriginsOf } from './origins.ts'
import { TOKEN_HEADER } from './response-cookies.ts'
import { findVersioned, mayReuseIds, versionOf } from './session-versions.ts'
import type { BetterAuthSource } from './source.ts'

/** Options of `betterAuthGuard` that Better Auth's options don't have. */
export interface BetterAuthGuardOptions
  extends Pick<
    AuthConfigOptions,
    | 'allowInsecure'
    | 'allowedHeaders'
    | 'exposedHeaders'
    | 'trustedProxies'
    | 'onEvent'
    | 'onFailure'
    | 'telemetry'
  > {
  /** The URL of the app. @default Better Auth's `baseURL`, or `BETTER_AUTH_URL` */
  readonly baseUrl?: string
  /** Other origins whose pages may use the cookies. @default Better Auth's `trustedOrigins` */
  readonly allowedOrigins?: readonly string[]
  /** Better Auth's database client. Pass it if the guard warns that it couldn't find the client. */
  readonly client?: DatabaseClient
}

/** Returns the configuration of both steps. The first call that needs it reads Better Auth's options. */
export function guardConfig(
  source: BetterAuthSource,
  {
    tokens,
    client: _,
    baseUrl: givenUrl,
    allowedOrigins: origins,
    ...settings
  }: BetterAuthGuardOptions & { tokens: KnownTokens },
): AuthConfig {
  const { auth } = source
  const findBaseUrl = () => givenUrl ?? baseUrlOf(source)
  const findOrigins = () => origins ?? trustedOriginsOf(source)
  return defineAuthConfig(() => {
    checkAll([() => requireSessions(source), findBaseUrl, findOrigins])
    const baseUrl = findBaseUrl()
    const allowedOrigins = findOrigins()
    const bearer = (auth.options.plugins ?? []).some(({ id }) => id === 'bearer')
    const { jwks, proof } = sessionCookieProof({
      cookie: source.cookieName,
      secret: () => source.current?.secret ?? '',
      async findSession(token) {
        const context = await source.load()
        const found = await context.internalAdapter.findSession(token)
        if (found === null) return null
        const key = { sessionId: String(found.session.id), userId: String(found.session.userId) }
        tokens.add(token, key)
        if (!mayReuseIds(context)) return key
        const versioned = await findVersioned(context, { token, session: found.session })
        return versioned && { ...key, version: versionOf(versioned.createdAt) }
      },
    })
    return {
      ...settings,
      baseUrl,
      allowedOrigins: allowedOrigins.filter((origin) => origin !== URL.parse(baseUrl)?.origin),
      session: { freshForSeconds: freshForSeconds(source) },
      ...accessOf(source),
      bearer,
      jwks,
      proof: {
        ...proof,
        ready: () => (source.current === undefined ? source.load() : undefined),
        async verify(token) {
          await source.load()
          if (bearer && !token.includes('.')) throw new AuthError('TOKEN_INVALID', { cause: unsigned() })
          return proof.verify(token)
        },
      },
    }
  })
}

/** Returns the cause of a rejection, for logs. */
function unsigned(): Error {
  return new Error(
    `The bearer token has no signature. Send the value of the response header ${TOKEN_HEADER} of Better Auth's sign-in, not the token in its body.`,
  )
}

/** @throws ConfigurationError if Better Auth keeps its sessions in cookies alone */
function requireSessions({ auth }: BetterAuthSource): void {
  const { database, secondaryStorage } = auth.options
  if (database !== undefined || secondaryStorage !== undefined) return
  throw new ConfigurationError(
    'betterAuthGuard: betterAuth() has no database and no secondaryStorage, so its sessions are only in cookies and cannot be revoked. Set one of the two.',
  )
}

/** Better Auth's `freshAge`, for which 0 means no limit. @default a day */
function freshForSeconds({ auth }: BetterAuthSource): number {
  const { freshAge = 24 * 60 * 60 } = auth.options.session ?? {}
  return freshAge === 0 ? Number.POSITIVE_INFINITY : freshAge
}
