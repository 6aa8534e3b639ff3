const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Returns whether a string is base64url without padding (RFC 7515 section 2) in its canonical form: the
 * unused bits of the last character are zero. Otherwise several tokens would carry one signature.
 */
export function isBase64url(value: string): boolean {
  if (!/^[A-Za-z0-9_-]*$/.test(value)) return false
  const lastDigit = ALPHABET.indexOf(value.at(-1) ?? 'A')
  const remainder = value.length % 4
  if (remainder === 2) return lastDigit % 16 === 0
  if (remainder === 3) return lastDigit % 4 === 0
  return remainder === 0
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses a JSON object. @throws Error on a BOM, invalid UTF-8 (RFC 8259 section 8.1), and other JSON */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  const value: unknown = JSON.parse(utf8.decode(bytes))
  if (!isJsonObject(value)) throw new TypeError('A JSON object was expected')
  return value
}

/** Returns the number of strings in JSON text, including the names of members. */
export function countStrings(bytes: Uint8Array): number {
  return utf8.decode(bytes).match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
}
