import { env, isEdge, isProduction } from '../env.ts'
import { keyFile } from './key-file.ts'
import { missingKeys } from './missing-keys.ts'

/** What signs the JWTs of users. The edge has no database, so it issues none and gets no private key. */
export const signingKeys = isEdge ? undefined : await loadSigningKeys()

async function loadSigningKeys(): Promise<unknown> {
  if (env.SIGNING_KEYS !== undefined) return env.SIGNING_KEYS
  if (isProduction) missingKeys()
  return (await keyFile(env.KEY_FILE)).signingKeys
}
