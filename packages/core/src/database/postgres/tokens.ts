import type { Pool } from 'pg'
import type { SessionStore, SessionToken } from '../../session/session-store.ts'
import { orUnavailable } from './errors.ts'
import { isIdOf } from './ids.ts'

const STATEMENT = `select "userId", token, "previousToken", "rotatedAt", "tokenFamily", version, "provedVersion",
  "expiresAt", "createdAt", "lastSeenAt", remembered from session where id = $1`

/** What the token endpoint needs of a session; the columns are those of the table. */
export function postgresTokens(pool: Pool): SessionStore['findToken'] {
  return async (sessionId) => {
    if (!isIdOf('text', sessionId)) return null
    const query = { name: 'sallyport_token', text: STATEMENT, values: [sessionId] }
    const { rows } = await orUnavailable(pool.query<SessionToken>(query))
    const [row] = rows
    if (row === undefined) return null
    // The driver reads `infinity` as a number.
    return { ...row, expiresAt: new Date(row.expiresAt) }
  }
}
