const [BIGINT, INTEGER, TIMESTAMPTZ] = [20, 23, 1184]

/** Returns a parameter as text, which every driver passes on unchanged, whatever its own settings are. */
export function encodeValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return arrayLiteral(value)
  return value
}

/** PostgreSQL's spelling of an array. */
function arrayLiteral(values: readonly unknown[]): string {
  const items = values.map((value) => {
    if (value === null || value === undefined) return 'null'
    if (Array.isArray(value)) return arrayLiteral(value)
    return `"${String(encodeValue(value)).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  })
  return `{${items.join(',')}}`
}

const DECODED: ReadonlySet<number> = new Set([BIGINT, INTEGER, TIMESTAMPTZ])

export interface Column {
  readonly name: string
  /** The OID of its type. */
  readonly dataTypeID: number
}

/**
 * Returns rows, objects or arrays, with the values that the package `pg` reads by default. An app may have
 * told its driver to read dates as text, as Drizzle does, or bigint as a number.
 */
export function decodeRows<Row>(rows: readonly unknown[], columns: readonly Column[]): Row[] {
  if (!columns.some(({ dataTypeID }) => DECODED.has(dataTypeID))) return Array.from(rows) as Row[]
  const types = new Map(columns.map(({ name, dataTypeID }) => [name, dataTypeID]))
  return rows.map((row) => {
    if (Array.isArray(row))
      return row.map((value, index) => decodeValue(value, columns[index]?.dataTypeID)) as Row
    const entries = Object.entries(row as object)
    return Object.fromEntries(
      entries.map(([name, value]) => [name, decodeValue(value, types.get(name))]),
    ) as Row
  })
}

export function decodeValue(value: unknown, type: number | undefined): unknown {
  if (value === null) return null
  if (type === TIMESTAMPTZ) return value instanceof Date ? value : new Date(String(value))
  if (type === BIGINT) return String(value)
  if (type === INTEGER) return Number(value)
  return value
}
