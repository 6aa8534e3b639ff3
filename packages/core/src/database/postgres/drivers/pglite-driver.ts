import { withDeadline } from '../../../protocol/deadline.ts'
import { type Begin, callbackTransaction } from './callback-transaction.ts'
import type { PGliteClient, PGliteQueries } from './clients.ts'
import type { PostgresDriver, Query, Statement, StatementResult } from './driver.ts'
import { decodeRows, encodeValue } from './values.ts'

/** Runs statements on a `PGlite`. It has one connection, so a transaction blocks all other statements. */
export function pgliteDriver(
  client: PGliteClient,
  { timeoutMs }: { readonly timeoutMs: number },
): Omit<PostgresDriver, 'close'> {
  const query: Query = (statement) => withDeadline(queryOf(client)(statement), timeoutMs)
  return {
    query,
    connect: async () =>
      callbackTransaction((mode, run) => begin(client, { mode, run }), { query, timeoutMs }),
    async listen(channel, { onPayload }) {
      const unlisten = await client.listen(channel, onPayload)
      return { query, close: () => void unlisten().catch(() => {}) }
    },
  }
}

function begin(
  client: PGliteClient,
  { mode, run }: { readonly mode: string | null; readonly run: Parameters<Begin>[1] },
): Promise<void> {
  return client.transaction(async (transaction) => {
    if (mode !== null) await transaction.query(`set transaction ${mode}`)
    await run(queryOf(transaction))
  })
}

function queryOf(queries: PGliteQueries): Query {
  return async <Row>({ text, values = [], rowMode }: Statement): Promise<StatementResult<Row>> => {
    const result = await queries.query(text, values.map(encodeValue), {
      rowMode: rowMode ?? 'object',
    })
    const { rows, affectedRows, fields, command = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? '' } = result
    return { rows: decodeRows<Row>(rows, fields), rowCount: affectedRows ?? null, command }
  }
}
