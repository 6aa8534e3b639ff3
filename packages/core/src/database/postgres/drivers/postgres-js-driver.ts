import { DeadlineError, withDeadline } from '../../../protocol/deadline.ts'
import { callbackTransaction } from './callback-transaction.ts'
import type { PostgresJs, PostgresJsQueries } from './clients.ts'
import type { PostgresDriver, Query, Statement, StatementResult } from './driver.ts'
import { decodeRows, encodeValue } from './values.ts'

/** Runs statements on the `sql` function of the package `postgres`. It prepares them unless told not to. */
export function postgresJsDriver(
  sql: PostgresJs,
  { timeoutMs }: { readonly timeoutMs: number },
): Omit<PostgresDriver, 'close'> {
  const query = queryOf(sql, timeoutMs)
  return {
    query,
    // Its method `reserve` never returns with `fetch_types: false`.
    connect: async () =>
      callbackTransaction(
        (mode, run) => sql.begin(mode ?? '', (transaction) => run(queryOf(transaction, timeoutMs))),
        query,
      ),
    async listen(channel, { onPayload, onEnd }) {
      let isListening = false
      const { unlisten } = await withDeadline(
        Promise.resolve(
          sql.listen(channel, onPayload, () => {
            // The package reconnects, and calls this again.
            if (isListening) onEnd()
            isListening = true
          }),
        ),
        timeoutMs,
      )
      return { query, close: () => void unlisten().catch(() => {}) }
    },
  }
}

function queryOf(sql: PostgresJsQueries, timeoutMs: number): Query {
  return async <Row>({ text, values = [], name, rowMode }: Statement): Promise<StatementResult<Row>> => {
    // It would encode the text of a JSON parameter once more.
    const plain = text.replaceAll(/(\$\d+)::(jsonb?)\b/g, '$1::text::$2')
    const pending = sql.unsafe(plain, values.map(encodeValue) as never[], { prepare: name !== undefined })
    const running = Promise.resolve(rowMode === 'array' ? pending.values() : pending)
    const result = await withDeadline(running, timeoutMs).catch((error: unknown) => {
      if (error instanceof DeadlineError) pending.cancel()
      throw error
    })
    const columns = (result.columns ?? []).map(({ name, type: dataTypeID }) => ({ name, dataTypeID }))
    return { rows: decodeRows<Row>(result, columns), rowCount: result.count, command: result.command }
  }
}
