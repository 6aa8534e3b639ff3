import type { AuthKysely, ServiceCallTable } from '../database/schema.ts'
import { digestBody } from './digest-body.ts'

/** How long an outcome is remembered. */
const KEPT_MS = 24 * 60 * 60 * 1000

/** A call that is executed at most once. */
export interface OnceCall {
  readonly idempotencyKey: string
  /** The path of the function. */
  readonly path: string
  /** What it is called with; see `digestBody`. */
  readonly bodyDigest: string
  /**
   * The service that calls: the key of another service is another key. Null for a call that stays in this
   * process.
   */
  readonly service: string | null
  /** The acting user: the key of another user is another key. */
  readonly userId: string | null
  readonly now: Date
  /** Is told where the outcome could not be stored: a repetition will find that nobody knows it. @default console.error */
  readonly onError?: (error: unknown) => void
}

/** What is known of a call. */
export type OnceOutcome =
  /** What the work returned, now or the first time. */
  | { readonly state: 'done'; readonly result: string }
  /** The key was used for another call. */
  | { readonly state: 'conflict' }
  /** It was begun, and nobody here knows how it ended, or whether it has. */
  | { readonly state: 'unknown' }

interface Running extends Pick<OnceCall, 'path' | 'bodyDigest'> {
  readonly outcome: Promise<OnceOutcome>
}

const runningByDatabase = new WeakMap<AuthKysely, Map<string, Running>>()

/**
 * Does work at most once for an idempotency key, on all nodes that share the database. It is noted before the work begins and again when
 * it is done. A repetition gets the stored outcome, and waits for it while the work goes on in this process.
 *
 * @param work must not reject: what went wrong is an outcome too, since by then something may have been done
 * @throws AuthError `SESSIONS_UNAVAILABLE` when the database cannot tell; then nothing was done
 */
export async function runOnce(
  db: AuthKysely,
  call: OnceCall,
  work: () => Promise<string>,
): Promise<OnceOutcome> {
  const { idempotencyKey, path, bodyDigest, service, userId } = call
  const id = await digestBody(new TextEncoder().encode(JSON.stringify([service, userId, idempotencyKey])))
  const running = runningByDatabase.get(db) ?? new Map<string, Running>()
  runningByDatabase.set(db, running)
  const earlier = running.get(id)
  if (earlier !== undefined) return isSameCall(earlier, call) ? earlier.outcome : { state: 'conflict' }
  const outcome = claimAndRun(db, { ...call, id }, work).finally(() => running.delete(id))
  running.set(id, { path, bodyDigest, outcome })
  return outcome
}

async function claimAndRun(
  db: AuthKysely,
  call: OnceCall & { readonly id: string },
  work: () => Promise<string>,
): Promise<OnceOutcome> {
  const { id, path, bodyDigest, userId, now, onError = console.error } = call
  const expiresAt = new Date(now.getTime() + KEPT_MS)
  const claimed = await db
    .insertInto('serviceCall')
    .values({ id, fn: path, body: bodyDigest, userId, result: null, expiresAt })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (claimed === undefined) return recall(db, call)
  const result = await work()
  // Whoever waits is told the outcome anyhow; a later repetition is told that it is unknown.
  await remember(db, id, result).catch(onError)
  return { state: 'done', result }
}

async function recall(db: AuthKysely, call: OnceCall & { readonly id: string }): Promise<OnceOutcome> {
  const row = await db
    .selectFrom('serviceCall')
    .select(['fn', 'body', 'result'])
    .where('id', '=', call.id)
    .executeTakeFirst()
  // Pruned a moment ago: it was begun, a day before.
  if (row === undefined) return { state: 'unknown' }
  if (!isSameCall({ path: row.fn, bodyDigest: row.body }, call)) return { state: 'conflict' }
  return row.result === null ? { state: 'unknown' } : { state: 'done', result: row.result }
}

async function remember(db: AuthKysely, id: string, result: ServiceCallTable['result']): Promise<void> {
  await db.updateTable('serviceCall').set({ result }).where('id', '=', id).execute()
}

function isSameCall(
  earlier: Pick<OnceCall, 'path' | 'bodyDigest'>,
  call: Pick<OnceCall, 'path' | 'bodyDigest'>,
): boolean {
  return earlier.path === call.path && earlier.bodyDigest === call.bodyDigest
}
