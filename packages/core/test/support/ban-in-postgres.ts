import pg from 'pg'

/** Bans a user by hand. */
export async function banInPostgres(url: string, email: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('update "user" set banned = true where email = $1', [email])
  await client.end()
}
