import {
  type AuthConfig,
  AuthError,
  ConfigurationError,
  defineAuthConfig,
  sessionCookieProof,
} from '@sallyport/core'
import { checkAll } from '@sallyport/core/internal/server'
import type { KnownTokens } from './known-tokens.ts'
import { TOKEN_HEADER } from './response-cookies.ts'
import type { BetterAuthSource } from './source.ts'

/** Options of `betterAuthGuard`, for what Better Auth's options don't say. */
export interface BetterAuthGuardOptions {
  /** The URL of the app. @default Better Auth's `baseURL`, or `BETTER_AUTH_URL` */
  readonly baseUrl?: string
  /** Other origins whose pages may use the cookies. @default Better Auth's `trustedOrigins` */
  readonly allowedOrigins?: readonly string[]
  /** Proxies whose `X-Forwarded-For` is read. @default [] */
  readonly trustedProxies?: readonly string[]
}

/** Returns the configuration of both steps. A call that first needs it reads Better Auth's options. */
export function guardConfig(
  source: BetterAuthSource,
  { tokens, ...options }: BetterAuthGuardOptions & { tokens: KnownTokens },
): AuthConfig {
  const { auth } = source
  const findBaseUrl = () => options.baseUrl ?? baseUrlOf(source)
  const findOrigins = () => options.allowedOrigins ?? staticOrigins(source)
  return defineAuthConfig(() => {
    checkAll([() => requireSessions(source), findBaseUrl, findOrigins])
    const baseUrl = findBaseUrl()
    const { trustedProxies = [] } = options
    const allowedOrigins = findOrigins()
    const bearer = (auth.options.plugins ?? []).some(({ id }) => id === 'bearer')
    const { jwks, proof } = sessionCookieProof({
      cookie: source.cookieName,
      secret: () => source.current?.secret ?? '',
      async findSession(token) {
        const { internalAdapter } = await source.load()
        const found = await internalAdapter.findSession(token)
        if (found === null) return null
        const key = { sessionId: String(found.session.id), userId: String(found.session.userId) }
        tokens.add(token, key)
        return key
      },
    })
    return {
      baseUrl,
      allowedOrigins: allowedOrigins.filter((origin) => origin !== URL.parse(baseUrl)?.origin),
      trustedProxies,
      bearer,
      jwks,
      proof: {
        ...proof,
        async verify(token) {
          await source.load()
          if (bearer && !token.includes('.')) throw new AuthError('TOKEN_INVALID', { cause: unsigned() })
          return proof.verify(token)
        },
      },
    }
  })
}

/** The cause of a rejection, for the log of a developer. */
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

function baseUrlOf({ auth }: BetterAuthSource): string {
  const { baseURL = process.env.BETTER_AUTH_URL } = auth.options
  if (typeof baseURL === 'string') return baseURL
  throw new ConfigurationError(
    'betterAuthGuard: baseUrl is not set. Set baseURL of betterAuth(), or pass { baseUrl } if it has several.',
  )
}

/** @throws ConfigurationError if an origin is a pattern, or a function decides */
function staticOrigins({ auth }: BetterAuthSource): readonly string[] {
  const { trustedOrigins = [] } = auth.options
  if (Array.isArray(trustedOrigins) && !trustedOrigins.some((origin) => /[*?]/.test(origin)))
    return trustedOrigins.filter((origin) => /^https?:/.test(origin))
  throw new ConfigurationError(
    'betterAuthGuard: trustedOrigins has patterns or is a function, which WebSockets and CORS cannot use. List the origins of your pages in betterAuthGuard(auth, { allowedOrigins }).',
  )
}
