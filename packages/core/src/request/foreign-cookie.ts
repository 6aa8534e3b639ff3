import { readCookie } from './cookie.ts'

/**
 * Returns the decoded value of another library's cookie; null if it was not sent. Equal values may be sent
 * twice.
 * @throws AuthError `COOKIE_CONFLICT`
 */
export function readForeignCookie(header: string | null, name: string): string | null {
  const value = readCookie(header, name, (first, second) => decodeCookie(first) === decodeCookie(second))
  return value === null ? null : decodeCookie(value)
}

/**
 * Signatures contain `+`, `/`, and `=`, so cookies are percent-encoded. A malformed one isn't decoded.
 * Neither is one with U+0000, on which a lookup in PostgreSQL would fail.
 */
export function decodeCookie(value: string): string {
  if (value.includes('%00')) return value
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
