import { type KeySet, staticJwks } from '@sallyport/core'
import { env, isProduction } from '../env.ts'
import { keyFile } from './key-file.ts'
import { missingKeys } from './missing-keys.ts'

/** Loads the keys that verify calls of services. Null rejects all of them. */
export async function loadServiceJwks(): Promise<KeySet | null> {
  if (env.SERVICE_JWKS !== undefined) return staticJwks(env.SERVICE_JWKS, { name: 'SERVICE_JWKS' })
  if (isProduction) return null
  return (await keyFile(env.SERVICE_KEY_FILE)).jwks
}

/** Loads the keys that sign the calls of the edge. */
export async function loadServiceSigningKeys(): Promise<unknown> {
  if (env.SERVICE_SIGNING_KEYS !== undefined) return env.SERVICE_SIGNING_KEYS
  if (isProduction) missingKeys('SERVICE_')
  return (await keyFile(env.SERVICE_KEY_FILE)).signingKeys
}
