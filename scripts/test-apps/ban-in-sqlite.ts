import { DatabaseSync } from 'node:sqlite'

/** Bans a user by hand in the file of the app's database. */
export function banInSqlite(file: string, email: string): void {
  const database = new DatabaseSync(file, { timeout: 5_000 })
  try {
    const { changes } = database.prepare('UPDATE user SET banned = 1 WHERE email = ?').run(email)
    if (changes !== 1) throw new Error(`${file} has no user ${email}`)
  } finally {
    database.close()
  }
}
