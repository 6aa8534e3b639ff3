import {
  type ColumnDefinitionBuilder,
  type CreateIndexBuilder,
  type CreateTableBuilder,
  type RawBuilder,
  type SchemaModule,
  sql,
} from 'kysely'
import type { Column, Table, Tables } from './table.ts'

/** The types and values that differ between databases. */
export interface ColumnTypes {
  readonly timestamp: RawBuilder<unknown>
  readonly flag: RawBuilder<unknown>
  readonly no: RawBuilder<unknown>
  readonly yes: RawBuilder<unknown>
}

/** A statement that creates a table or an index. */
export type CreateStatement = CreateTableBuilder<string, string> | CreateIndexBuilder

/** Returns the statements that create tables, then their indexes. */
export function createStatements(
  schema: SchemaModule,
  types: ColumnTypes,
  tables: Tables,
): CreateStatement[] {
  const entries = Object.entries(tables)
  return [
    ...entries.map((entry) => createTable(entry, { schema, types })),
    ...entries.flatMap(([name, table]) => createIndexes(schema, name, table)),
  ]
}

function createTable(
  [name, { columns, uniques = {}, foreignKeys = {} }]: [string, Table],
  { schema, types }: { schema: SchemaModule; types: ColumnTypes },
): CreateTableBuilder<string, string> {
  let table: CreateTableBuilder<string, string> = schema.createTable(name)
  for (const [column, shape] of Object.entries(columns))
    table = table.addColumn(column, typeOf(shape, types), (builder) => define(builder, shape))
  for (const [constraint, unique] of Object.entries(uniques))
    table = table.addUniqueConstraint(constraint, [...unique])
  for (const [constraint, key] of Object.entries(foreignKeys))
    table = table.addForeignKeyConstraint(
      constraint,
      [...key.columns],
      key.table,
      [...key.references],
      (builder) => {
        const deferred = key.isDeferred ? builder.deferrable().initiallyDeferred() : builder
        return key.onDelete === undefined ? deferred : deferred.onDelete(key.onDelete)
      },
    )
  return table
}

function createIndexes(schema: SchemaModule, table: string, { indexes = {} }: Table): CreateIndexBuilder[] {
  return Object.entries(indexes).map(([name, { columns, isUnique }]) => {
    const index = schema
      .createIndex(name)
      .on(table)
      .columns([...columns])
    return isUnique ? index.unique() : index
  })
}

/** Returns the SQL type of a column. */
function typeOf({ type }: Column, types: ColumnTypes): RawBuilder<unknown> {
  if (type === 'flag' || type === 'timestamp') return types[type]
  return sql.raw(type === 'number' ? 'double precision' : type)
}

function define(
  builder: ColumnDefinitionBuilder,
  { isNullable, isPrimaryKey, isAutoIncrement, isUnique, default: value, references }: Column,
): ColumnDefinitionBuilder {
  let column = builder
  if (isPrimaryKey) column = column.primaryKey()
  // SQLite accepts a null as a primary key unless the column rejects it.
  if (!isNullable) column = column.notNull()
  if (isAutoIncrement) column = column.autoIncrement()
  if (value !== undefined) column = column.defaultTo(typeof value === 'object' ? sql.raw(value.sql) : value)
  if (isUnique) column = column.unique()
  if (references === undefined) return column
  column = column.references(`${references.table}.${references.column}`)
  return references.onDelete === undefined ? column : column.onDelete(references.onDelete)
}
