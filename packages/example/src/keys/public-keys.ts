import { dynamicJwks, type KeySet, staticJwks } from '@sallyport/core'
import { env, isEdge, isProduction } from '../env.ts'
import { keyFile } from './key-file.ts'
import { missingKeys } from './missing-keys.ts'

/** The keys that verify the JWTs of users. */
export const jwks = await loadJwks()

/** Reads `JWKS` if it is set. Otherwise, the edge fetches the keys from the backend. */
async function loadJwks(): Promise<KeySet> {
  if (env.JWKS !== undefined) return staticJwks(env.JWKS)
  if (isEdge) return dynamicJwks(new URL('/api/auth/jwks', env.BASE_URL).href)
  if (isProduction) missingKeys()
  return (await keyFile(env.KEY_FILE)).jwks
}
