import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { banInPostgres } from '../../packages/core/test/support/ban-in-postgres.ts'
import { startPostgres } from '../../packages/core/test/support/embedded-postgres.ts'
import { banInSqlite } from './ban-in-sqlite.ts'

/** The database that has the users of an app. */
export interface Users extends AsyncDisposable {
  ban(this: void, email: string): void | Promise<void>
}

export const usersInFile =
  (path: string) =>
  (cwd: string): Users => ({
    ban: (email) => banInSqlite(join(cwd, path), email),
    async [Symbol.asyncDispose]() {},
  })

/** Starts PostgreSQL, and writes the URL of a new database to the app's `.env`. */
export async function startUsers(cwd: string): Promise<Users> {
  const server = await startPostgres()
  const url = await server.createDatabase('app')
  writeFileSync(join(cwd, '.env'), `DATABASE_URL="${url}"\n`)
  return {
    ban: (email) => banInPostgres(url, email),
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
