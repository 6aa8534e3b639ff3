import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createSigningKey, parseSigningKeys } from '@sallyport/core/auth'
import { env, isProduction } from './env.ts'

const HOW_TO_MAKE_KEYS = `In production the keys come from the environment. Make them once, keep SIGNING_KEYS secret:

  npx -y pnpm --silent --filter @sallyport/example exec sallyport keys create

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
  const signingKeys = existsSync(env.KEY_FILE)
    ? readFileSync(env.KEY_FILE, 'utf8')
    : await createKeyFile(env.KEY_FILE)
  return { jwks: parseSigningKeys(signingKeys).publicJwks, signingKeys }
}

async function createKeyFile(path: string): Promise<string> {
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify({ keys: [await createSigningKey()] }), { mode: 0o600 })
  try {
    // Of several processes that start at once the first wins, and nobody sees half a file.
    linkSync(draft, path)
  } catch (error) {
    if (!existsSync(path)) throw error
  } finally {
    unlinkSync(draft)
  }
  return readFileSync(path, 'utf8')
}
