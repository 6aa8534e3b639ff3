import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Returns the text of the other files in a schema folder of Prisma; empty for a single file. */
export function otherSchemas(path: string, current: string | null): string {
  const folder = dirname(path)
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
  return (
    entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.prisma') && entry.name !== basename(path))
      .map(({ name }) => readFileSync(join(folder, name), 'utf8'))
      // A folder has one datasource. A file with another one is a schema for another database.
      .filter((text) => !(DATASOURCE.test(text) && DATASOURCE.test(current ?? '')))
      .join('\n')
  )
}

const DATASOURCE = /^\s*datasource\s/m
