// Runs on the edge: nothing here may need Node.
import { type AuthConfig, defineAuthConfig, isAuthError, staticJwks } from '@sallyport/core'
import {
  digestBody,
  issueServiceToken,
  parseServiceSigningKeys,
  rejectSharedKeys,
  serviceAudience,
  verifyServiceToken,
} from '@sallyport/core/internal/server'

/** What both sides of a service call know. */
export interface Settings {
  readonly baseUrl: string
  /** Public keys of users' JWTs. */
  readonly jwks: string
  readonly signingKeys: string
  readonly serviceJwks: string
}

function configOf({ baseUrl, jwks }: Settings): AuthConfig {
  return defineAuthConfig({ baseUrl, jwks: staticJwks(jwks) })
}

/** The calling side: a token for a call of `report.save` with this body. */
export async function issue(settings: Settings, body: string, now: number): Promise<string> {
  const config = configOf(settings)
  const { active } = parseServiceSigningKeys(settings.signingKeys, config)
  const bodyDigest = await digestBody(new TextEncoder().encode(body))
  return issueServiceToken(
    { path: 'report.save', type: 'mutation', actor: null, idempotencyKey: 'r1' },
    {
      key: active,
      service: 'edge',
      audience: serviceAudience(config),
      bodyDigest,
      now: new Date(now),
    },
  )
}

/** The side that is called: the path that a token is for, or why it does not count. */
export async function verify(settings: Settings, token: string, body: string, now: number): Promise<string> {
  const config = configOf(settings)
  const serviceJwks = staticJwks(settings.serviceJwks)
  rejectSharedKeys(serviceJwks, config)
  try {
    const audience = serviceAudience(config)
    const { path, bodyDigest } = await verifyServiceToken(token, {
      jwks: serviceJwks,
      audience,
      now: new Date(now),
    })
    const isForBody = bodyDigest === (await digestBody(new TextEncoder().encode(body)))
    return isForBody ? path : 'another body'
  } catch (error) {
    return isAuthError(error) ? error.reason : String(error)
  }
}
