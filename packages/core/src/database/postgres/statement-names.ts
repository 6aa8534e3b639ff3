import { createHash } from 'node:crypto'
import { sqlState } from '../sql-state.ts'
import type { Query, Statement, StatementResult } from './drivers/driver.ts'

/** The name exists on this connection already, or doesn't exist: a pooler has switched the connection. */
const FOREIGN_NAMES = new Set<unknown>(['42P05', '26000'])

/** `cached plan must not change result type`: a column was altered after the statement was prepared. */
const OUTDATED_PLAN = '0A000'

/** Runs a statement with `query`. */
export type NamedQuery = <Row>(query: Query, statement: Statement) => Promise<StatementResult<Row>>

/**
 * Runs named statements until a pooler mixes up their names. From then on, all are unnamed: each is parsed
 * again, but works on any connection. When the app alters a column, statements get new names, so every
 * connection prepares them again. The statement that failed is retried once.
 */
export function statementNames(): NamedQuery {
  let isNamed = true
  /** How often columns were altered. */
  let version = 0

  const current = (statement: Statement): Statement =>
    version === 0 ? statement : { ...statement, name: `${statement.name}_${version}` }

  function giveUpNames(): void {
    if (!isNamed) return
    isNamed = false
    console.warn(
      'sallyport: prepared statements are no longer used, because a pooler runs them on other connections. Lookups take a little longer. To prepare them, connect to PostgreSQL directly, or set pool_mode = session.',
    )
  }

  return (query, statement) => {
    if (statement.name === undefined) return query(statement)
    if (!isNamed) return query(withoutName(statement))
    const tried = version
    return query<never>(current(statement)).catch((error: unknown) => {
      const state = sqlState(error)
      if (state === OUTDATED_PLAN) {
        // Statements that ran at the same time have failed too.
        if (version === tried) version++
        return query(current(statement))
      }
      if (!FOREIGN_NAMES.has(state)) throw error
      giveUpNames()
      return query(withoutName(statement))
    })
  }
}

function withoutName({ name: _, ...unnamed }: Statement): Statement {
  return unnamed
}

/** Returns a name that no other text has. Stores with other columns or schemas may share a connection. */
export function statementName(purpose: string, text: string): string {
  return `sallyport_${purpose}_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}
