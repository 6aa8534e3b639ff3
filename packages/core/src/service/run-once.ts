import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import { digestBody, type ServiceClaims } from './service-token.ts'

/** A row outlives its token by this much: the clock of another node may be minutes behind. */
const RETENTION_TOKEN_MS = 10 * 60 * 1000

const RETENTION_OUTCOME_MS = 24 * 60 * 60 * 1000

/** A call that runs at most once. */
export interface OnceCall {
  readonly idempotencyKey: string
  readonly path: string
  readonly bodyDigest: string
  /** The calling service; null within this process. Each service has separate idempotency keys. */
  readonly service: string | null
  /** Each acting user has separate idempotency keys. */
  readonly userId: string | null
  readonly now: Date
  /** Called if the outcome can't be stored. A repetition then gets `unknown`. @default console.error */
  readonly onError?: (error: unknown) => void
}

type OnceOutcome =
  /** The result of the work, now or the first time. */
  | { readonly state: 'done'; readonly result: string }
  /** The key was used for another call. */
  | { readonly state: 'conflict' }
  /** The work was started, but its outcome isn't known. */
  | { readonly state: 'unknown' }

type Subject = Pick<OnceCall, 'path' | 'bodyDigest'>
interface Running extends Subject {
  readonly outcome: Promise<OnceOutcome>
}

const runningByDatabase = new WeakMap<AuthKysely, Map<string, Running>>()

/**
 * Runs work at most once per idempotency key, on all nodes that share the database. A repetition gets the
 * stored outcome, or waits while the work runs in this process.
 * @param work must not reject: an error is an outcome too, because a part of the work may be done
 * @throws AuthError `SESSIONS_UNAVAILABLE` if the database doesn't respond; then the work wasn't started
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
  const expiresAt = new Date(now.getTime() + RETENTION_OUTCOME_MS)
  const claimed = await db
    .insertInto('sallyport.service_call')
    .values({ id, fn: path, body: bodyDigest, userId, result: null, expiresAt })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (claimed === undefined) return findOutcome(db, call)
  const result = await work()
  await db.updateTable('sallyport.service_call').set({ result }).where('id', '=', id).execute().catch(onError)
  return { state: 'done', result }
}

async function findOutcome(db: AuthKysely, call: Subject & { readonly id: string }): Promise<OnceOutcome> {
  const calls = db.selectFrom('sallyport.service_call').select(['fn', 'body', 'result'])
  const row = await calls.where('id', '=', call.id).executeTakeFirst()
  // The row has just been pruned: the call was started a day ago.
  if (row === undefined) return { state: 'unknown' }
  if (!isSameCall({ path: row.fn, bodyDigest: row.body }, call)) return { state: 'conflict' }
  return row.result === null ? { state: 'unknown' } : { state: 'done', result: row.result }
}

function isSameCall(earlier: Subject, call: Subject): boolean {
  return earlier.path === call.path && earlier.bodyDigest === call.bodyDigest
}

/** Consumes a service JWT on every node that shares the database. Returns false if it was consumed before. */
export async function consumeToken(
  db: AuthKysely,
  { service, id, expiresAt }: Pick<ServiceClaims, 'service' | 'id' | 'expiresAt'>,
): Promise<boolean> {
  // One service must not be able to consume a token of another.
  const row = {
    id: JSON.stringify([service, id]),
    expiresAt: new Date(expiresAt.getTime() + RETENTION_TOKEN_MS),
  }
  const consumed = await db
    .insertInto('sallyport.service_token')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  return consumed !== undefined
}
