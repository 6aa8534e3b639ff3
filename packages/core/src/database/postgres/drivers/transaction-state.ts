import type { Query, Statement, StatementResult } from './driver.ts'

/**
 * Follows `begin`, `commit`, and `rollback`, for drivers that don't report whether a transaction is open. A
 * statement without an answer leaves it open.
 */
export function followTransaction(query: Query): { readonly query: Query; isOpen(): boolean } {
  let isOpen = false
  return {
    isOpen: () => isOpen,
    async query<Row>(statement: Statement): Promise<StatementResult<Row>> {
      if (/^(begin|start transaction)\b/.test(statement.text)) isOpen = true
      const result = await query<Row>(statement)
      if (/^(commit|rollback)$/.test(statement.text)) isOpen = false
      return result
    },
  }
}
