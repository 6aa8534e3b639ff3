import { sql } from 'kysely'
import type { AuthConfig } from '../config.ts'
import { MAX_SKEW_MS, readClockSkew } from '../database/clock-skew.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { requireFile } from '../database/watch-file.ts'
import type { FailureCode } from '../events/failure.ts'
import { Fault, failureCode } from '../events/failure-code.ts'
import { reportFailure } from '../events/report-failure.ts'
import { withDeadline } from '../protocol/deadline.ts'
import { AuthError } from '../protocol/errors.ts'
import { checkKeys, checkLookup } from '../session/is-ready.ts'

type Part = 'read' | 'write' | 'feed' | 'keys' | 'clock'

/** What works now, and the code of what doesn't, without a message. */
export type Readiness = Readonly<Record<Part, 'ok' | FailureCode>>

const SHARED_MS = 1_000
/** Some checks may never end, such as one whose connection was lost. */
const MAX_JOINED_MS = 30_000

/** Creates a check of every part. Callers within a second share one. */
export function createReadiness(
  config: AuthConfig,
  connect: () => Promise<SessionDatabase>,
): () => Promise<Readiness> {
  let startedAt = Number.NEGATIVE_INFINITY
  let shared: Promise<Readiness>
  const running = new Map<Part, { readonly work: Promise<unknown>; readonly startedAt: number }>()

  /** Runs one check. The cause is for the operator: the result may be public. */
  async function run(part: Part, check: () => Promise<unknown>): Promise<'ok' | FailureCode> {
    try {
      // Read first: if the configuration is invalid, no check may run that nothing waits for.
      const { lookupTimeoutMs } = config
      await withDeadline(runOnce(part, check), lookupTimeoutMs)
      return 'ok'
    } catch (error) {
      // An error without a known code, such as of a missing column, is DATABASE_UNAVAILABLE, as in calls.
      const ofDatabase = new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
      const code = failureCode(part === 'keys' ? error : ofDatabase)
      reportFailure(error, { code, path: 'readiness', step: 'background' }, config)
      return code
    }
  }

  /** Joins a check that has passed its deadline, such as at a lock: each holds a connection of the app. */
  function runOnce(part: Part, check: () => Promise<unknown>): Promise<unknown> {
    const now = performance.now()
    const last = running.get(part)
    if (last !== undefined && now - last.startedAt < MAX_JOINED_MS) return last.work
    const work = check().finally(() => running.delete(part))
    running.set(part, { work, startedAt: now })
    return work
  }

  async function checkAll(): Promise<Readiness> {
    const [read, write, feed, keys, clock] = await Promise.all([
      run('read', async () => checkRead(config, await connect())),
      run('write', async () => checkWrite(await connect())),
      run('feed', async () => checkFeed(await connect())),
      // It needs no database.
      run('keys', () => checkKeys(config)),
      run('clock', async () => checkClock(await connect())),
    ])
    return { read, write, feed, keys, clock }
  }

  return () => {
    const now = performance.now()
    if (now - startedAt < SHARED_MS) return shared
    startedAt = now
    shared = checkAll()
    return shared
  }
}

function checkRead(config: AuthConfig, database: SessionDatabase): Promise<void> {
  requireFile(database)
  return checkLookup(config, database.sessions)
}

/** Writes a row, and rolls it back. */
export async function checkWrite(database: SessionDatabase): Promise<void> {
  requireFile(database)
  const { db, locks, isReplaced } = database
  const isSqlite = locks.sql.engine === 'sqlite'
  const none = { userId: null, sessionId: null, actorId: null, address: null, userAgent: null }
  const rollback = new Error('Rolled back')
  const detail = isSqlite ? JSON.stringify('x'.repeat(SQLITE_BYTES)) : '{}'
  const row = { id: crypto.randomUUID(), type: 'readiness', createdAt: new Date(), detail }
  async function write(trx: Pick<typeof db, 'insertInto'>): Promise<never> {
    await trx
      .insertInto('sallyport.audit')
      .values({ ...none, ...row, actingSessionId: null })
      .execute()
    throw rollback
  }
  try {
    // A database that has a local file can say whether it was replaced.
    await db.transaction().execute((trx) => (isReplaced ? spilling(trx, () => write(trx)) : write(trx)))
  } catch (error) {
    if (error !== rollback) throw error
  }
}

/** On a full disk, SQLite fails when it needs a page. A small row fits into one that it has. */
const SQLITE_BYTES = 64 * 1024
const SPILLING_PAGES = 4

/**
 * Keeps few pages of a transaction in memory. Otherwise SQLite writes none to the disk before the commit. Not
 * in other modes than WAL: there, written pages would lock out all readers.
 */
async function spilling(trx: SessionDatabase['db'], work: () => Promise<never>): Promise<never> {
  const get = async (name: string) => {
    const { rows } = await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(trx)
    return rows[0]?.[name]
  }
  const set = (name: string, value: unknown) => sql`pragma ${sql.raw(`${name} = ${value}`)}`.execute(trx)
  if ((await get('journal_mode')) !== 'wal') return work()
  const before = { cache_size: await get('cache_size'), cache_spill: await get('cache_spill') }
  try {
    for (const name of Object.keys(before)) await set(name, SPILLING_PAGES)
    return await work()
  } finally {
    for (const [name, value] of Object.entries(before)) await set(name, value)
  }
}

function checkFeed({ revocations }: SessionDatabase): void {
  const failure = revocations.failures?.current ?? null
  if (failure !== null) throw new Fault(failure.code, 'The feed of revocations is down', failure.cause)
}

/** With another clock than the other nodes', this one would end sessions too early or too late. */
async function checkClock({ db, locks }: SessionDatabase): Promise<void> {
  const skewMs = await readClockSkew(db, locks.sql.engine)
  if (Math.abs(skewMs) > MAX_SKEW_MS)
    throw new Fault('CLOCK_SKEW', `The clock differs from the database's by ${skewMs} ms`)
}
