/**
 * Fills the database of one peer: `node app/seed.ts PEER DATABASE_URL SESSIONS`. Sends the cookies to the
 * parent, and then revokes the session of each cookie and bans each user that the parent names.
 */
import { openDatabase } from './open-database.ts'
import type { PeerModule } from './peer.ts'

interface Command {
  readonly revoke?: string
  readonly ban?: string
  /** Renames the table of the sessions. */
  readonly breakTable?: true
}

const [name = '', databaseUrl = '', sessions = ''] = process.argv.slice(2)
const { seed }: PeerModule = await import(`./${name}.ts`)
if (seed === undefined) throw new Error(`${name} has no sessions`)
const seeder = await seed(databaseUrl)
const userId = await seeder.signUp('ada')
const cookies: string[] = []
for (let i = 0; i < Number(sessions); i++) cookies.push(await seeder.signIn(userId))
const graceId = await seeder.signUp('grace')
const maryId = await seeder.signUp('mary')
const database = await openDatabase(databaseUrl)
const execute = (sql: string) =>
  'pool' in database ? database.pool.query(sql) : Promise.resolve(database.sqlite.exec(sql))
await execute('analyze')

process.on('message', async ({ revoke, ban, breakTable }: Command) => {
  if (revoke !== undefined) await seeder.revoke(revoke)
  if (ban !== undefined) await seeder.ban?.(ban)
  if (breakTable) await execute('alter table "session" rename to "gone"')
  process.send?.('done')
})
process.once('disconnect', () => process.exit())
process.send?.({
  cookies,
  hasBans: seeder.ban !== undefined,
  grace: { userId: graceId, cookie: await seeder.signIn(graceId) },
  mary: { userId: maryId, cookie: await seeder.signIn(maryId) },
})
