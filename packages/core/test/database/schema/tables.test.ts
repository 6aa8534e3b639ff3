import { describe, expect, test } from 'vitest'
import type { Tables } from '../../../src/database/schema/table.ts'
import { INTERNAL_TABLES, USER_TABLES } from '../../../src/database/schema/tables.ts'
import { databaseKinds } from '../../support/database-kinds.ts'

const TYPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  SQLite: { text: 'text', integer: 'integer', bigint: 'bigint', flag: 'integer', timestamp: 'text' },
  PostgreSQL: {
    ...{ text: 'text', integer: 'integer', bigint: 'bigint', flag: 'boolean' },
    timestamp: 'timestamp with time zone',
  },
}

describe.each(await databaseKinds())('the migrations in $name', (kind) => {
  test('create the described columns, in order', async () => {
    const database = await kind.create()
    await database.open()
    const tables: Tables = { ...USER_TABLES, ...INTERNAL_TABLES }
    for (const [table, { columns }] of Object.entries(tables)) {
      const [schema, name] = table.includes('.') ? table.split('.') : ['public', table]
      const rows = await database.rows(
        kind.name === 'SQLite'
          ? `select name, lower(type) as type, "notnull" = 0 as nullable, dflt_value as value
              from pragma_table_info('${table.replace('.', '_')}')`
          : `select column_name as name, data_type as type, (is_nullable = 'YES')::int as nullable,
              replace(column_default, '::text', '') as value from information_schema.columns
              where table_schema = '${schema}' and table_name = '${name}' order by ordinal_position`,
      )
      const described = Object.entries(columns).map(([column, { type, isNullable, default: value }]) => ({
        name: column,
        type: TYPES[kind.name]?.[type],
        nullable: isNullable ? 1 : 0,
        value: value === undefined ? null : typeof value === 'string' ? `'${value}'` : String(value),
      }))
      expect({ table, rows }).toEqual({ table, rows: described })
    }
  })
})
