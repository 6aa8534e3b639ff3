import type { KeySet } from '../keys/key-set.ts'
import { AuthError } from '../protocol/errors.ts'
import { hashText } from './hash-text.ts'

/** How often a secret is read while streams depend on it. They end within 1 s of a change. */
const CHECK_MS = 500

/** A shared secret as a key set. Identities that another secret proved aren't valid. */
export interface SecretKeys extends KeySet {
  /** Returns the token of `token.signature`, and the id of the key. @throws AuthError `TOKEN_INVALID` */
  verify(value: string): Promise<{ readonly token: string; readonly keyId: string }>
}

interface ImportedSecret {
  readonly id: string
  readonly key: Awaited<ReturnType<typeof crypto.subtle.importKey>>
}

/** @param secret returns the current secret, or an empty string while it isn't known */
export function createSecretKeys(secret: () => string): SecretKeys {
  let current = ''
  let version = 0
  let imported: Promise<ImportedSecret> | null = null
  /** Null until the current secret is imported. */
  let currentId: string | null = null

  function follow(): number {
    const found = secret()
    if (found === current) return version
    // The first secret keeps the version, because nothing was verified without a secret. So the cache works
    // from the first call on.
    if (current !== '') version++
    current = found
    imported = null
    currentId = null
    return version
  }

  async function importCurrent(): Promise<ImportedSecret> {
    const ofVersion = follow()
    if (current === '') throw new AuthError('KEYS_UNAVAILABLE')
    imported ??= importSecret(current)
    const result = await imported
    if (ofVersion === follow()) currentId = result.id
    return result
  }

  return {
    get version() {
      return follow()
    },
    algorithms: new Set(),
    findKey: () => undefined,
    keys: () => [],
    ready: async () => void (await importCurrent()),
    status(kid) {
      follow()
      return kid === currentId ? 'known' : 'revoked'
    },
    subscribe(listener) {
      let seen = follow()
      const timer = setInterval(() => {
        if (follow() === seen) return
        seen = version
        listener()
      }, CHECK_MS)
      timer.unref?.()
      return () => clearInterval(timer)
    },
    async verify(value) {
      const dot = value.lastIndexOf('.')
      const [token, signature] = [value.slice(0, dot), decodeSignature(value.slice(dot + 1))]
      if (dot < 1 || signature === null) throw new AuthError('TOKEN_INVALID')
      const { id, key } = await importCurrent()
      const isSigned = await crypto.subtle.verify('HMAC', key, signature, new TextEncoder().encode(token))
      if (!isSigned) throw new AuthError('TOKEN_INVALID')
      return { token, keyId: id }
    },
  }
}

async function importSecret(secret: string): Promise<ImportedSecret> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const bytes = new TextEncoder().encode(secret)
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify'])
  return { id: await hashText(secret), key }
}

/** Returns the bytes of a signature in canonical base64, so no signature has a second spelling. */
function decodeSignature(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return null
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return btoa(String.fromCharCode(...bytes)) === text ? bytes : null
}
