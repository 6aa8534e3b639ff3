import { withDeadline } from '../../../protocol/deadline.ts'
import type { PostgresHttpClient } from './clients.ts'
import type { PostgresDriver, Statement, StatementResult } from './driver.ts'
import { type Column, decodeRows, encodeValue } from './values.ts'

interface HttpResult {
  readonly rows: readonly unknown[]
  readonly rowCount: number
  readonly command: string
  readonly fields: readonly Column[]
}

/** Sends each statement as an HTTP request, with the function of `neon()`. */
export function neonHttpDriver(
  client: PostgresHttpClient,
  { timeoutMs }: { readonly timeoutMs: number },
): Omit<PostgresDriver, 'close'> {
  return {
    async query<Row>({ text, values = [], rowMode }: Statement): Promise<StatementResult<Row>> {
      const options = { arrayMode: rowMode === 'array', fullResults: true } as const
      const sent = Promise.resolve(client.query(text, values.map(encodeValue), options))
      const { rows, rowCount, command, fields } = (await withDeadline(sent, timeoutMs)) as HttpResult
      return { rows: decodeRows<Row>(rows, fields), rowCount, command }
    },
  }
}
