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
