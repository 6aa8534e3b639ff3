import { join } from 'node:path'
import type { Engine } from '../../database/schema/mapping.ts'
import type { Tables } from '../../database/schema/table.ts'
import type { AddedColumns } from '../../session/added-columns.ts'
import { databaseFile, ORIGIN } from './database-file.ts'
import { drizzleFile } from './drizzle-file.ts'
import { prismaFile } from './prisma-file.ts'
import { otherSchemas } from './prisma-folder.ts'
import { SQL_ORIGIN, sqlFile } from './sql-file.ts'

export type SchemaName = 'kysely' | 'drizzle' | 'prisma' | 'sql'

/** The tables to write, and the file as it is. */
interface SchemaInput {
  readonly columns: AddedColumns
  readonly tables: Tables
  readonly dialect: Engine
  readonly path: string
  readonly current: string | null
}

/** How to write the tables for a tool. */
interface Schema {
  /** Returns the default path of the file. */
  file(folder: string): string
  /** Returns whether we may change a file. */
  isOurs(text: string): boolean
  /** Returns the text of the file. If only its format differs, returns the current text. */
  write(input: SchemaInput): string
}

/** The schemas that `sallyport generate` writes, by the name of the tool. */
export const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  kysely: {
    file: (folder) => join(folder, 'generated/database.ts'),
    isOurs: (text) => text.startsWith(ORIGIN),
    write: ({ columns, tables }) => databaseFile(columns, tables),
  },
  drizzle: {
    file: (folder) => join(folder, 'generated/auth-schema.ts'),
    isOurs: (text) => text.startsWith(ORIGIN),
    write: ({ tables, dialect }) => drizzleFile(tables, dialect),
  },
  prisma: {
    file: () => 'prisma/schema.prisma',
    // The models are added to the app's file.
    isOurs: () => true,
    write: ({ tables, dialect, path, current }) =>
      prismaFile(tables, { engine: dialect, current, others: otherSchemas(path, current) }),
  },
  sql: {
    file: (folder) => join(folder, 'generated/auth-schema.sql'),
    isOurs: (text) => text.startsWith(SQL_ORIGIN),
    write: ({ tables, dialect }) => sqlFile(tables, dialect),
  },
}
