import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { text } from 'node:stream/consumers'

type Value = { type: string; value?: string | number }
type Condition = { type: string; step?: number; cond?: Condition; conds?: Condition[] }
type Statement = { sql?: string; sql_id?: number; args: Value[] }
type Step = { condition?: Condition; stmt: Statement }
type StreamRequest =
  | { type: 'execute'; stmt: Statement }
  | { type: 'batch'; batch: { steps: Step[] } }
  | { type: 'sequence'; sql: string }
  | { type: 'store_sql'; sql_id: number; sql: string }
  | { type: 'close_sql'; sql_id: number }
  | { type: 'close' }

interface Stream {
  readonly database: DatabaseSync
  readonly texts: Map<number, string>
}

/**
 * Starts a stub of a remote libsql server: the part of Hrana 2 over HTTP that `@libsql/client` uses, on a
 * real SQLite file with a connection for each stream. It isn't libsql's own server.
 */
export async function startHranaStub(path: string): Promise<{ url: string; close(): Promise<void> }> {
  const streams = new Map<string, Stream>()

  function open(): Stream {
    const database = new DatabaseSync(path, { timeout: 0, readBigInts: true })
    database.exec('pragma journal_mode = wal; pragma synchronous = off')
    return { database, texts: new Map() }
  }

  function pipeline({ baton, requests }: { baton?: string; requests: StreamRequest[] }): object {
    const stream = (baton !== undefined && streams.get(baton)) || open()
    const results = requests.map((request) => {
      try {
        return { type: 'ok', response: { type: request.type, ...handle(request, stream) } }
      } catch (error) {
        return { type: 'error', error: toError(error) }
      }
    })
    if (baton !== undefined) streams.delete(baton)
    if (!stream.database.isOpen) return { baton: null, base_url: null, results }
    const next = randomUUID()
    streams.set(next, stream)
    return { baton: next, base_url: null, results }
  }

  const server = createServer(async (request, response) => {
    if (request.method !== 'POST' || request.url !== '/v2/pipeline') return response.writeHead(404).end()
    const body = pipeline(JSON.parse(await text(request)))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      for (const { database } of streams.values()) database.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function handle(request: StreamRequest, { database, texts }: Stream): object {
  const run = (statement: Statement) => execute(database, statement, texts)
  if (request.type === 'execute') return { result: run(request.stmt) }
  if (request.type === 'batch') return { result: batch(database, request.batch.steps, run) }
  if (request.type === 'sequence') database.exec(request.sql)
  if (request.type === 'store_sql') texts.set(request.sql_id, request.sql)
  if (request.type === 'close_sql') texts.delete(request.sql_id)
  if (request.type === 'close') database.close()
  return {}
}

function batch(database: DatabaseSync, steps: Step[], run: (statement: Statement) => object): object {
  const results: (object | null)[] = []
  const errors: (object | null)[] = []
  const holds = ({ type, step = 0, cond, conds = [] }: Condition): boolean => {
    if (type === 'ok') return results[step] !== null
    if (type === 'error') return errors[step] !== null
    if (type === 'not') return cond !== undefined && !holds(cond)
    if (type === 'is_autocommit') return !database.isTransaction
    return type === 'and' ? conds.every(holds) : conds.some(holds)
  }
  for (const { condition, stmt } of steps) {
    results.push(null)
    errors.push(null)
    if (condition !== undefined && !holds(condition)) continue
    try {
      results.splice(-1, 1, run(stmt))
    } catch (error) {
      errors.splice(-1, 1, toError(error))
    }
  }
  return { step_results: results, step_errors: errors }
}

function execute(
  database: DatabaseSync,
  { sql, sql_id = 0, args }: Statement,
  texts: Stream['texts'],
): object {
  const statement = database.prepare(sql ?? texts.get(sql_id) ?? '')
  const parameters = args.map(({ type, value }): SQLInputValue => {
    if (type === 'null') return null
    return type === 'integer' ? BigInt(value ?? 0) : (value ?? null)
  })
  const cols = statement.columns().map(({ name }) => ({ name, decltype: null }))
  if (cols.length === 0) {
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return result({ cols, rows: [], changes: Number(changes), lastInsertRowid })
  }
  statement.setReturnArrays(true)
  const rows: unknown = statement.all(...parameters)
  return result({ cols, rows: rows as unknown[][], changes: 0, lastInsertRowid: 0 })
}

function result(of: {
  cols: object[]
  rows: unknown[][]
  changes: number
  lastInsertRowid: number | bigint
}): object {
  return {
    cols: of.cols,
    rows: of.rows.map((row) => row.map(encode)),
    affected_row_count: of.changes,
    last_insert_rowid: String(of.lastInsertRowid),
  }
}

function encode(value: unknown): Value {
  if (value === null) return { type: 'null' }
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) }
  return typeof value === 'number' ? { type: 'float', value } : { type: 'text', value: String(value) }
}

const CODES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  5: 'SQLITE_BUSY',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
}

function toError(error: unknown): object {
  if (!(error instanceof Error)) throw error
  const code = 'errcode' in error && typeof error.errcode === 'number' ? CODES[error.errcode] : undefined
  return { message: error.message, code: code ?? 'SQLITE_UNKNOWN' }
}
