import { env, isEdge, isProduction } from '../env.ts'
import { keyFile } from './key-file.ts'
import { missingKeys } from './missing-keys.ts'

/** The keys that sign the JWTs of users. The edge never issues JWTs, so it gets no private keys. */
export const signingKeys = isEdge ? undefined : await loadSigningKeys()

async function loadSigningKeys(): Promise<unknown> {
  if (env.SIGNING_KEYS !== undefined) return env.SIGNING_KEYS
  if (isProduction) missingKeys()
  return (await keyFile(env.KEY_FILE)).signingKeys
}
