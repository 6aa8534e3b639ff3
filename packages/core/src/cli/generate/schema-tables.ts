import { columnsOf } from '../../database/schema/columns.ts'
import { INTERNAL_SCHEMA, prefixed } from '../../database/schema/internal-tables.ts'
import type { Engine } from '../../database/schema/mapping.ts'
import { migrationTableOf } from '../../database/schema/migrations.ts'
import { recordTables } from '../../database/schema/record-tables.ts'
import type { Table, Tables } from '../../database/schema/table.ts'
import { INTERNAL_TABLES, migrationRecords } from '../../database/schema/tables.ts'
import type { AuthPlugin } from '../../endpoints/definition.ts'
import type { AddedColumns } from '../../session/added-columns.ts'

/**
 * Returns the tables of a schema. For SQLite, Drizzle and Prisma also get our internal tables, since they
 * drop tables that they don't know. In PostgreSQL those are in a separate schema, which both ignore.
 */
export async function schemaTables(
  plugins: readonly AuthPlugin[],
  { schema, dialect }: { schema: string; dialect: Engine },
): Promise<{ columns: AddedColumns; tables: Tables }> {
  const tables = await recordTables(plugins, dialect)
  const columns = columnsOf({ plugins })
  const isTool = schema === 'drizzle' || schema === 'prisma'
  if (!isTool) return { columns, tables }
  const all = dialect === 'sqlite' ? { ...tables, ...internalTables(plugins) } : tables
  return { columns, tables: withTableKeys(all, dialect) }
}

/**
 * Adds the foreign keys of columns to those of their table, by the names that PostgreSQL gives them. Omits
 * keys that are checked at commit, which the tools can't declare: PostgreSQL would check them at once. In
 * SQLite, a transaction can defer them.
 */
function withTableKeys(tables: Tables, dialect: Engine): Tables {
  return Object.fromEntries(
    Object.entries(tables).map(([name, { foreignKeys = {}, ...table }]): [string, Table] => {
      const ofColumns = Object.entries(table.columns).flatMap(([column, { references }]) => {
        if (references === undefined) return []
        const { column: target, ...key } = references
        return [[`${name}_${column}_fkey`, { ...key, columns: [column], references: [target] }] as const]
      })
      const kept = Object.entries(foreignKeys).filter(([, key]) => dialect === 'sqlite' || !key.isDeferred)
      return [name, { ...table, foreignKeys: Object.fromEntries([...ofColumns, ...kept]) }]
    }),
  )
}

/** Our internal tables by their names in SQLite. */
function internalTables(plugins: readonly AuthPlugin[]): Tables {
  const owners = plugins.filter(({ migrations }) => migrations !== undefined).map(({ id }) => id)
  const records = [null, ...owners].map((owner) => migrationRecords(migrationTableOf(owner)))
  const tables: Tables = Object.assign({ ...INTERNAL_TABLES }, ...records)
  return Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [prefixed(name.replace(`${INTERNAL_SCHEMA}.`, '')), table]),
  )
}
