import { type AuthConfig, defineAuthConfig, sessionCookieProof } from '@sallyport/core'
import { accessOf } from './access.ts'
import type { DatabaseClient } from './find-client.ts'
import { baseUrlOf, trustedOriginsOf } from './origins.ts'
import type { BetterAuthSource } from './source.ts'

/** Options of `betterAuthGuard`, for what Better Auth's options don't say. */
export interface BetterAuthGuardOptions {
  /** The URL of the app. @default Better Auth's `baseURL`, or `BETTER_AUTH_URL` */
  readonly baseUrl?: string
  /** Other origins whose pages may use the cookies. @default Better Auth's `trustedOrigins` */
  readonly allowedOrigins?: readonly string[]
  /** Proxies whose `X-Forwarded-For` is read. @default [] */
  readonly trustedProxies?: readonly string[]
  /** The database client of Better Auth, if guards warn that it could not be found. */
  readonly client?: DatabaseClient
}

/** Returns the configuration of both steps. Better Auth's options are read when a call first needs them. */
export function guardConfig(source: BetterAuthSource, options: BetterAuthGuardOptions): AuthConfig {
  const { auth } = source
  return defineAuthConfig(() => {
    const baseUrl = options.baseUrl ?? baseUrlOf(source)
    const { trustedProxies = [] } = options
    const allowedOrigins = options.allowedOrigins ?? trustedOriginsOf(source)
    const { jwks, proof } = sessionCookieProof({
      cookie: source.cookieName,
      secret: () => source.current?.secret ?? '',
      async findSession(token) {
        const { internalAdapter } = await source.load()
        const found = await internalAdapter.findSession(token)
        if (found === null) return null
        return { sessionId: String(found.session.id), userId: String(found.session.userId) }
      },
    })
    return {
      baseUrl,
      allowedOrigins: allowedOrigins.filter((origin) => origin !== URL.parse(baseUrl)?.origin),
      trustedProxies,
      session: { freshForSeconds: freshForSeconds(source) },
      ...accessOf(source),
      bearer: (auth.options.plugins ?? []).some(({ id }) => id === 'bearer'),
      jwks,
      proof: {
        ...proof,
        async verify(token) {
          await source.load()
          return proof.verify(token)
        },
      },
    }
  })
}

/** Better Auth's `freshAge`, for which 0 means no limit. @default a day */
function freshForSeconds({ auth }: BetterAuthSource): number {
  const { freshAge = 24 * 60 * 60 } = auth.options.session ?? {}
  return freshAge === 0 ? Number.POSITIVE_INFINITY : freshAge
}
