const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Whether a string is base64url without padding (RFC 7515 section 2) in its one canonical form: the bits that the last
 * character carries beyond the last byte are zero. Otherwise several tokens would carry one signature.
 */
export function isBase64url(value: string): boolean {
  if (!/^[A-Za-z0-9_-]*$/.test(value)) return false
  const lastDigit = ALPHABET.indexOf(value.at(-1) ?? 'A')
  switch (value.length % 4) {
    case 1:
      return false
    case 2:
      return lastDigit % 16 === 0
    case 3:
      return lastDigit % 4 === 0
    default:
      return true
  }
}
