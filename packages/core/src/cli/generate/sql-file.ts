import { Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import { createStatements } from '../../database/schema/create-table.ts'
import { INTERNAL_SCHEMA } from '../../database/schema/internal-tables.ts'
import type { Engine } from '../../database/schema/mapping.ts'
import { postgresTypes, sqliteTypes } from '../../database/schema/migrations.ts'
import type { Tables } from '../../database/schema/table.ts'

/** The first line of a generated SQL file. */
export const SQL_ORIGIN = '-- Written by "sallyport generate"'

const unopened = (): Promise<never> => Promise.reject(new TypeError('Statements are only compiled'))

const DIALECTS = {
  sqlite: new SqliteDialect({ database: unopened }),
  postgres: new PostgresDialect({ pool: unopened }),
}

/** Returns the statements that create the tables and their indexes. */
export function sqlFile(tables: Tables, engine: Engine): string {
  const { schema } = new Kysely<unknown>({ dialect: DIALECTS[engine] })
  const types = engine === 'sqlite' ? sqliteTypes : postgresTypes(INTERNAL_SCHEMA)
  const statements = createStatements(schema, types, tables).map((statement) => statement.compile().sql)
  return `${SQL_ORIGIN}: change the auth definition and run that again.\n${statements.map(toLines).join('')}`
}

/** Writes each column and constraint of a table on a separate line. */
function toLines(statement: string): string {
  const [, start, members] = /^(create table \S+ )\((.*)\)$/.exec(statement) ?? []
  if (members === undefined) return `${statement};\n`
  const lines = members.split(/, (?="|constraint )(?![^(]*\))/)
  return `${start}(\n${lines.map((line) => `  ${line}`).join(',\n')}\n);\n`
}
