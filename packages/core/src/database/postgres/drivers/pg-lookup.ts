import type { Client, Connection, Submittable } from 'pg'
import type { Query, Statement, StatementResult } from './driver.ts'
import { type Column, decodeValue, encodeValue } from './values.ts'

type Decode = (text: string) => unknown

/**
 * Runs statements that read rows as arrays. `pg` asks for the columns with every run, which takes a tenth of
 * a lookup. This asks once per named statement. If the columns change, the server rejects the statement.
 */
export function pgLookup(client: Client): Query {
  const prepared = new Map<string, readonly Decode[]>()
  const decoderOf = ({ dataTypeID }: Column): Decode => {
    const parse = client.getTypeParser(dataTypeID, 'text')
    return (text) => decodeValue(parse(text), dataTypeID)
  }
  return <Row>(statement: Statement) =>
    new Promise<StatementResult<Row>>((resolve, reject) => {
      const callback = (error: unknown, result?: StatementResult<Row>) =>
        result === undefined ? reject(error) : resolve(result)
      client.query(new Lookup<Row>(statement, { prepared, decoderOf, callback }))
    })
}

type Callback<Row> = (error: unknown, result?: StatementResult<Row>) => void

interface LookupContext<Row> {
  /** The columns of the named statements that this connection has prepared. */
  readonly prepared: Map<string, readonly Decode[]>
  readonly decoderOf: (column: Column) => Decode
  readonly callback: Callback<Row>
}

/** A statement that `pg` sends. Tools that trace queries read its public fields, and wrap `callback`. */
class Lookup<Row> implements Submittable {
  readonly text: string
  readonly name: string
  readonly values: readonly unknown[]
  callback: Callback<Row>
  readonly #context: LookupContext<Row>
  readonly #rows: Row[] = []
  #columns: readonly Decode[] | undefined
  #error: unknown = null

  constructor({ text, name = '', values = [] }: Statement, context: LookupContext<Row>) {
    this.text = text
    this.name = name
    this.values = values
    this.callback = context.callback
    this.#context = context
    this.#columns = context.prepared.get(name)
  }

  submit(connection: Connection): void {
    const { text, name } = this
    // Sends all messages together.
    connection.stream.cork()
    if (this.#columns === undefined) {
      connection.parse({ text, name, types: [] }, true)
      // Before the values, because the server prepares the statement even if they are invalid.
      connection.describe({ type: 'S', name }, true)
    }
    connection.bind({ statement: name, values: this.values.map(toParameter) }, true)
    connection.execute(null, true)
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    const { decoderOf, prepared } = this.#context
    this.#columns = fields.map(decoderOf)
    if (this.name !== '') prepared.set(this.name, this.#columns)
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    try {
      const row = fields.map((text, index) => (text === null ? null : this.#columns?.[index]?.(text)))
      this.#rows.push(row as Row)
    } catch (error) {
      this.#error = error
    }
  }

  handleCommandComplete(): void {}

  handleError(error: unknown): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    const rows = this.#rows
    if (this.#error === null) this.callback(null, { rows, rowCount: rows.length, command: 'SELECT' })
    else this.callback(this.#error)
  }
}

function toParameter(value: unknown): string | null {
  return value === null || value === undefined ? null : String(encodeValue(value))
}
