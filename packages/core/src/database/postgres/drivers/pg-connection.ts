import { quote } from '../../schema/mapping.ts'
import type { PgConnection } from './clients.ts'
import type { ListenEvents, Listening, Query, Statement, StatementResult } from './driver.ts'
import { decodeRows } from './values.ts'

export function pgQuery(client: PgConnection): Query {
  return async <Row>(statement: Statement): Promise<StatementResult<Row>> => {
    const result = await client.query(statement as Parameters<PgConnection['query']>[0])
    const { rows, fields, rowCount, command } = result
    return { rows: decodeRows<Row>(rows, fields), rowCount, command }
  }
}

interface ListeningOptions {
  readonly channel: string
  readonly events: ListenEvents
  /** Closes the connection. */
  readonly end: () => void
  readonly query?: Query
}

/** Listens on a connection that isn't used for anything else but the log. */
export async function pgListening(
  client: PgConnection,
  { channel, events, end, query = pgQuery(client) }: ListeningOptions,
): Promise<Listening> {
  let isClosed = false
  const close = () => {
    isClosed = true
    end()
  }
  client.once('end', events.onEnd)
  client.on('notification', ({ payload = '' }) => {
    if (!isClosed) events.onPayload(payload)
  })
  try {
    await query({ text: `listen ${quote(channel)}` })
  } catch (error) {
    close()
    throw error
  }
  return { query, close }
}
