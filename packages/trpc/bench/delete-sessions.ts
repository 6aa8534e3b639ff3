/** Deletes every session of a database when it receives a message, and sends the time of the commit. */
import { openDatabase } from '../test/revocation/open-database.ts'

const { db, close } = await openDatabase(process.argv[2] ?? '')
process.once('message', async () => {
  await db.deleteFrom('session').execute()
  process.send?.(performance.timeOrigin + performance.now())
  await close()
  process.disconnect?.()
})
process.send?.('ready')
