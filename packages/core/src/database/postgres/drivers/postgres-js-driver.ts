import { DeadlineError, withDeadline } from '../../../protocol/deadline.ts'
import { callbackTransaction } from './callback-transaction.ts'
import type { PostgresJs, PostgresJsQueries } from './clients.ts'
import type { ListenEvents, PostgresDriver, Query, Statement, StatementResult } from './driver.ts'
import { decodeRows, encodeValue } from './values.ts'

/** Runs statements on the `sql` function of the package `postgres`. It prepares them unless told not to. */
export function postgresJsDriver(
  sql: PostgresJs,
  { timeoutMs }: { readonly timeoutMs: number },
): PostgresDriver {
  const query = queryOf(sql, timeoutMs)
  let registered: ReturnType<PostgresJs['listen']> | null = null
  let current: ListenEvents | null = null
  let isListening = false
  const listening = Promise.withResolvers<void>()

  /** Called again when the package has reconnected. */
  function onListen(): void {
    listening.resolve()
    if (isListening) current?.onEnd()
    isListening = true
  }

  return {
    query,
    // Its method `reserve` never returns with `fetch_types: false`.
    connect: async () =>
      callbackTransaction(
        (mode, run) => sql.begin(mode ?? '', (transaction) => run(queryOf(transaction, timeoutMs))),
        { query, timeoutMs },
      ),
    async listen(channel, events) {
      current = events
      // The package reconnects, even after a failed attempt, and then can't remove a listener: add only one.
      registered ??= sql.listen(channel, (payload) => current?.onPayload(payload), onListen)
      await withDeadline(Promise.race([listening.promise, registered]), timeoutMs)
      return {
        query,
        close() {
          current = null
        },
      }
    },
    async close() {
      registered?.then(({ unlisten }) => unlisten()).then(undefined, () => {})
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
