import { type AuthDefinition, requireSigningKeys } from '../../endpoints/definition.ts'
import { issueJwt } from '../../jwt/issue-jwt.ts'
import { verifyJwt } from '../../jwt/verify-jwt.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { messageOf } from '../errors.ts'

const REDEPLOY = 'Deploy JWKS and SIGNING_KEYS from one "sallyport keys export --private".'

/** Loads the keys of every issuer, passes a JWT through Step 1, and returns a summary. */
export async function checkKeys(definition: AuthDefinition): Promise<string> {
  const { config } = definition
  for (const { issuer, jwks } of config.issuers) {
    await jwks.ready().catch((cause: unknown) => {
      throw new ConfigurationError(`The keys of ${issuer} can't be loaded. ${messageOf(cause)}`, { cause })
    })
  }
  const { active, publicJwks } = requireSigningKeys(definition)
  const { jwks } = config.issuers[0]
  for (const { kid } of publicJwks.keys) {
    if ((await jwks.findKey(kid)) !== undefined) continue
    throw new ConfigurationError(`SIGNING_KEYS has the key ${kid}, and JWKS doesn't. ${REDEPLOY}`)
  }
  const session = { id: 'doctor', userId: 'doctor', expiresAt: new Date(config.now().getTime() + 60_000) }
  const { token } = await issueJwt(session, { key: active, config })
  await verifyJwt(token, config).catch((cause: unknown) => {
    throw new ConfigurationError(
      `Step 1 rejects a JWT that the key ${active.kid} signed. ${messageOf(cause)} ${REDEPLOY}`,
      { cause },
    )
  })
  return `${active.kid} (${active.alg}) signs. Keys that verify: ${[...jwks.keys()].length}`
}
