import { pruningTime } from './clock-skew.ts'
import type { AuthKysely } from './schema/kysely-tables.ts'
import type { Engine } from './schema/mapping.ts'
import { LOG_RETENTION_MS } from './schema/revocation-log.ts'

/** Deletes old entries and counters every hour until the returned function is called. */
export function pruneFeedHourly(db: AuthKysely, engine: Engine): () => void {
  async function prune(): Promise<void> {
    const now = (await pruningTime(new Date(), db, engine)).getTime()
    const old = db.deleteFrom('sallyport.revocation_log').where('at', '<=', new Date(now - LOG_RETENTION_MS))
    if (engine === 'postgres') await old.execute()
    await db.deleteFrom('sallyport.rate_limit').where('expire', '<=', now).execute()
  }
  const timer = setInterval(() => void prune().catch(() => {}), LOG_RETENTION_MS).unref()
  return () => clearInterval(timer)
}
