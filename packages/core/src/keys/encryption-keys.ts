import {
  base64url,
  calculateJwkThumbprint,
  type DecryptOptions,
  FlattenedEncrypt,
  flattenedDecrypt,
  type JWEHeaderParameters,
} from 'jose'
import { ConfigurationError } from '../protocol/errors.ts'

/** Encrypts secrets for the database: JWE (RFC 7516) with AES-256-GCM, and the owner as additional data. */
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

/**
 * Reads `ENCRYPTION_KEYS`; null if it isn't set.
 * @throws ConfigurationError if a key isn't 32 bytes in base64. The message doesn't have the key.
 */
export function readEncryptionKeys(variable: string | undefined): EncryptionKeys | null {
  if (variable === undefined || variable.trim() === '') return null
  const keys = variable.split(',').map((text, index) => readKey(text.trim(), index + 1))

  async function findKey({ kid }: JWEHeaderParameters = {}): Promise<Uint8Array> {
    for (const key of keys) if ((await idOf(key)) === kid) return key
    throw new ConfigurationError(
      `ENCRYPTION_KEYS lacks the key ${kid}, which encrypted a secret in the database. Add it after the first key.`,
    )
  }

  return {
    async encrypt(text, owner) {
      const [first] = keys
      if (first === undefined) throw new ConfigurationError('ENCRYPTION_KEYS has no key. Add one.')
      const header = { alg: 'dir', enc: 'A256GCM', kid: await idOf(first) }
      const encryption = new FlattenedEncrypt(encode(text)).setProtectedHeader(header)
      // The owner isn't stored: who decrypts has to know it.
      const { aad: _, ...jwe } = await encryption
        .setAdditionalAuthenticatedData(encode(JSON.stringify(owner)))
        .encrypt(first)
      return JSON.stringify(jwe)
    },
    async decrypt(encrypted, owner) {
      const jwe = { ...JSON.parse(encrypted), aad: base64url.encode(JSON.stringify(owner)) }
      const { plaintext } = await flattenedDecrypt(jwe, findKey, ALGORITHMS)
      return new TextDecoder().decode(plaintext)
    },
  }
}

const ALGORITHMS: DecryptOptions = {
  keyManagementAlgorithms: ['dir'],
  contentEncryptionAlgorithms: ['A256GCM'],
}

function readKey(text: string, place: number): Uint8Array {
  try {
    const bytes = base64url.decode(text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''))
    if (bytes.length === KEY_BYTES) return bytes
  } catch {
    // The error could have a part of the key.
  }
  throw new ConfigurationError(
    `ENCRYPTION_KEYS: key ${place} isn't 32 bytes in base64. Create one with "openssl rand -base64 32".`,
  )
}

/** Returns the thumbprint of a key (RFC 7638). */
function idOf(key: Uint8Array): Promise<string> {
  return calculateJwkThumbprint({ kty: 'oct', k: base64url.encode(key) })
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
