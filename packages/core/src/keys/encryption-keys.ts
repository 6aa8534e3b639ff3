import { base64url } from 'jose'
import { ConfigurationError } from '../protocol/errors.ts'

/** Encrypts secrets for the database: AES-256-GCM (NIST SP 800-38D), with a random IV for each text. */
export interface EncryptionKeys {
  /**
   * Encrypts with the first key.
   * @param owner what the text belongs to, such as `['totp', userId]`. It decrypts for no other owner.
   */
  encrypt(text: string, owner: readonly string[]): Promise<string>
  /**
   * Decrypts with the key that encrypted the text.
   * @throws ConfigurationError if that key is missing
   * @throws Error if the text was changed, or belongs to another owner
   */
  decrypt(encrypted: string, owner: readonly string[]): Promise<string>
}

const KEY_BYTES = 32
const IV_BYTES = 12
const KEY_ID_BYTES = 6

/**
 * Reads `ENCRYPTION_KEYS`; null if it isn't set.
 * @throws ConfigurationError if a key isn't 32 bytes in base64. The message doesn't have the key.
 */
export function readEncryptionKeys(variable: string | undefined): EncryptionKeys | null {
  if (variable === undefined || variable.trim() === '') return null
  const keys = variable.split(',').map((text, index) => readKey(text.trim(), index + 1))
  let imported: Promise<readonly ImportedKey[]> | undefined
  const importOnce = () => {
    imported ??= Promise.all(keys.map(importKey))
    return imported
  }
  return {
    async encrypt(text, owner) {
      const [first] = await importOnce()
      if (first === undefined) throw new ConfigurationError('ENCRYPTION_KEYS has no key. Add one.')
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
      const bytes = await crypto.subtle.encrypt(algorithm(iv, owner), first.key, encode(text))
      return [first.id, base64url.encode(iv), base64url.encode(new Uint8Array(bytes))].join('.')
    },
    async decrypt(encrypted, owner) {
      const [keyId, iv = '', text = ''] = encrypted.split('.')
      const found = (await importOnce()).find(({ id }) => id === keyId)
      if (found === undefined)
        throw new ConfigurationError(
          `ENCRYPTION_KEYS lacks the key ${keyId}, which encrypted a secret in the database. Add it after the first key.`,
        )
      const bytes = await crypto.subtle.decrypt(algorithm(decode(iv), owner), found.key, decode(text))
      return new TextDecoder().decode(bytes)
    },
  }
}

interface ImportedKey {
  /** The start of the key's hash. */
  readonly id: string
  readonly key: CryptoKey
}

function readKey(text: string, place: number): Uint8Array<ArrayBuffer> {
  try {
    const bytes = decode(text)
    if (bytes.length === KEY_BYTES) return bytes
  } catch {
    // The error could have a part of the key.
  }
  throw new ConfigurationError(
    `ENCRYPTION_KEYS: key ${place} isn't 32 bytes in base64. Create one with "openssl rand -base64 32".`,
  )
}

async function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<ImportedKey> {
  const key = await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt'])
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return { id: base64url.encode(hash.subarray(0, KEY_ID_BYTES)), key }
}

/** JSON, so no two owners have the same bytes. */
function algorithm(iv: Uint8Array<ArrayBuffer>, owner: readonly string[]): AesGcmParams {
  return { name: 'AES-GCM', iv, additionalData: encode(JSON.stringify(owner)) }
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new TextEncoder().encode(text))
}

/** Accepts base64 and base64url. */
function decode(text: string): Uint8Array<ArrayBuffer> {
  const canonical = text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
  return new Uint8Array(base64url.decode(canonical))
}
