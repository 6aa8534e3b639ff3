import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createSigningKey, parseSigningKeys } from '@sallyport/core/auth'
import { env, isProduction } from './env.ts'

const HOW_TO_MAKE_KEYS = `In production the keys come from the environment. Make them once, keep SIGNING_KEYS secret:

  npx -y pnpm --silent --filter @sallyport/core exec sallyport keys create

and start with the two variables that it prints, JWKS and SIGNING_KEYS.`

/** The public and the private keys, as JWK Sets. */
export const { jwks, signingKeys } = await loadKeys()

async function loadKeys(): Promise<{ jwks: unknown; signingKeys: unknown }> {
  if (env.JWKS !== undefined && env.SIGNING_KEYS !== undefined)
    return { jwks: env.JWKS, signingKeys: env.SIGNING_KEYS }
  if (isProduction) {
    console.error(HOW_TO_MAKE_KEYS)
    process.exit(1)
  }
  const signingKeys = await readOrCreateKeyFile(env.KEY_FILE)
  return { jwks: parseSigningKeys(signingKeys).publicJwks, signingKeys }
}

async function readOrCreateKeyFile(path: string): Promise<string> {
  const created = JSON.stringify({ keys: [await createSigningKey()] })
  mkdirSync(dirname(path), { recursive: true })
  try {
    // Fails when the file is there, also when another process has just made it.
    writeFileSync(path, created, { mode: 0o600, flag: 'wx' })
    return created
  } catch {
    return readFileSync(path, 'utf8')
  }
}
