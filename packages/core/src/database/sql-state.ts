import { errorAndCauses } from '../protocol/causes.ts'

/** Returns the SQLSTATE of a database error; null for a connection error. */
export function sqlState(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null
}

/** Returns the SQLSTATE of an error or of its causes. */
export function stateOf(error: unknown): string | null {
  return (
    errorAndCauses(error)
      .map(sqlState)
      .find((state) => state !== null) ?? null
  )
}
