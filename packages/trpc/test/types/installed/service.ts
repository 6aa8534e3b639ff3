import { staticJwks } from '@sallyport/core'
import { createSigningKey } from '@sallyport/core/auth'
import {
  digestBody,
  issueServiceToken,
  parseServiceSigningKeys,
  serviceAudience,
  verifyServiceToken,
} from '@sallyport/core/service'
import { authConfig } from './auth.config.ts'

/** The name of the service that a JWT of its own proves to be the caller. */
export async function callerOfService(): Promise<string> {
  const keys = parseServiceSigningKeys({ keys: [await createSigningKey()] }, authConfig)
  const audience = serviceAudience(authConfig)
  const now = new Date()
  const token = await issueServiceToken(
    { path: 'countNotes', type: 'query', actor: null, idempotencyKey: null },
    {
      key: keys.active,
      service: 'reports',
      audience,
      bodyDigest: await digestBody(new TextEncoder().encode('{}')),
      now,
    },
  )
  const { service } = await verifyServiceToken(token, { jwks: staticJwks(keys.publicJwks), audience, now })
  return service
}
