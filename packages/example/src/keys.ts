import { type KeySet, staticJwks } from '@sallyport/core'
import { openKeyFile } from '@sallyport/core/auth'
import { env, isProduction } from './env.ts'

const HOW_TO_MAKE_KEYS = `In production the keys come from the environment. Make them once, keep SIGNING_KEYS secret:

  npx -y pnpm --silent --filter @sallyport/example exec sallyport keys create

and start with the two variables that it prints, JWKS and SIGNING_KEYS.`

/** The keys that verify, for the light half, and those that sign, for the heavy one. */
interface Keys {
  readonly jwks: KeySet
  readonly signingKeys: unknown
}

export const { jwks, signingKeys } = await loadKeys()

/**
 * Two variables if they are set, as in production. Otherwise a key file, which is made at the first start and followed from then on:
 * `sallyport keys rotate --key-file data/keys.json` needs no restart.
 */
async function loadKeys(): Promise<Keys> {
  if (env.JWKS !== undefined && env.SIGNING_KEYS !== undefined)
    return { jwks: staticJwks(env.JWKS), signingKeys: env.SIGNING_KEYS }
  if (!isProduction) return openKeyFile(env.KEY_FILE)
  console.error(HOW_TO_MAKE_KEYS)
  process.exit(1)
}
