import type { StoreMeter } from '../../events/telemetry.ts'
import { DeadlineError } from '../../protocol/deadline.ts'
import { AuthError } from '../../protocol/errors.ts'
import type { SessionKey, StoredSession } from '../../session/session.ts'
import type { LookupConnection, LookupConnections, LookupEvents } from './drivers/driver.ts'
import { isStatementFault } from './drivers/errors.ts'

const MAX_RESULTS_PER_TURN = 64

/** After a freeze of the process, both open connections may be lost. The last attempt is on a new one. */
const MAX_ATTEMPTS = 3

/** The result of a lookup, or the promise of one. */
export type LookupResult = StoredSession | null | Promise<null>

interface Lookup extends PromiseWithResolvers<StoredSession | null> {
  readonly key: SessionKey
  /** When the caller gives up, in milliseconds of `performance.now()`. */
  readonly deadline: number
  attempts: number
  /** Sends the batch that this lookup begins. */
  begin: (() => void) | undefined
}

interface QueueOptions extends Pick<LookupEvents, 'prepare'> {
  readonly openConnections: (events: LookupEvents) => LookupConnections
  /** Runs one statement for all keys, and returns their sessions in the same order. */
  readonly findAll: (connection: LookupConnection, keys: readonly SessionKey[]) => Promise<LookupResult[]>
  readonly timeoutMs: number
  readonly meter: StoreMeter
  /** How many keys a statement has at most. */
  readonly batchSize: number
  /** How many statements run at once. */
  readonly parallel: number
}

export interface LookupQueue extends Pick<LookupConnections, 'current' | 'spare'> {
  /** Resolves when the first lookup can be sent, and rejects if connecting fails. */
  readonly opened: Promise<void>
  find(key: SessionKey): Promise<StoredSession | null>
  /** Rejects waiting and later lookups. Resolves when no statement is running. */
  close(): Promise<void>
}

/** Sends lookups in batches. See `postgresLookups`. */
export function lookupQueue(options: QueueOptions): LookupQueue {
  const { openConnections, prepare, findAll, timeoutMs, batchSize, parallel, meter } = options
  let queue: Lookup[] = []
  const running = new Set<Promise<void>>()
  let outage: unknown = null
  let lastDurationMs = 0
  const connections = openConnections({ prepare, onReady: resume, onOutage: rejectUntilReady })

  function send(): void {
    const connection = connections.current()
    if (connection === undefined || running.size >= parallel) return
    rejectLate()
    if (queue.length === 0) return
    const batch = queue.splice(0, batchSize)
    const statement = run(connection, batch).then(() => {
      running.delete(statement)
      sendNext()
    })
    running.add(statement)
    if (parallel > 1) send()
  }

  /** A statement belongs to the call that begins its batch, not to that of the statement before it. */
  function sendNext(): void {
    const [first] = queue
    const begin = first?.begin ?? send
    // It runs only once, but the lookup may be retried.
    if (first !== undefined) first.begin = undefined
    begin()
  }

  /** Rejects lookups whose callers will have given up before a slow database responds. */
  function rejectLate(): void {
    const respondsAt = performance.now() + lastDurationMs
    const first = queue.findIndex(({ deadline }) => deadline >= respondsAt)
    // The stack of an error costs more than the rest of a lookup.
    if (first === 0 || queue.length === 0) return
    const late = queue.splice(0, first === -1 ? queue.length : first)
    rejectAll(late, new DeadlineError('No response in time'))
  }

  async function run(connection: LookupConnection, batch: readonly Lookup[]): Promise<void> {
    const sentAt = performance.now()
    meter.telemetry?.record('batch', batch.length, { system: meter.system })
    try {
      const keys = batch.map(({ key }) => key)
      const sessions = await findAll(connection, keys)
      // Capped, or a lookup that was just queued could seem late.
      lastDurationMs = Math.min(performance.now() - sentAt, timeoutMs / 2)
      resolveAll(batch, sessions)
    } catch (error) {
      lastDurationMs = 0
      await recover(connection, { batch, error })
    }
  }

  async function recover(
    connection: LookupConnection,
    { batch, error }: { readonly batch: readonly Lookup[]; readonly error: unknown },
  ): Promise<void> {
    const isAtFault = isStatementFault(error)
    if (isAtFault && batch.length > 1) {
      // Run them one by one: an id that the database rejects must not fail the others.
      for (const lookup of batch) await run(connection, [lookup])
      return
    }
    if (!isAtFault) connections.replace(connection)
    const isLost = !isAtFault && !(error instanceof DeadlineError)
    for (const lookup of batch) lookup.attempts++
    const mayRetry = ({ attempts }: Lookup) => isLost && attempts < MAX_ATTEMPTS
    const failed = batch.filter((lookup) => !mayRetry(lookup))
    rejectAll(failed, error)
    queue = [...batch.filter(mayRetry), ...queue]
    if (outage !== null) rejectUntilReady(outage)
  }

  function resume(): void {
    outage = null
    sendNext()
  }

  function rejectUntilReady(error: unknown): void {
    outage = error
    rejectAll(queue.splice(0), error)
  }

  return {
    opened: connections.opened,
    current: connections.current,
    spare: connections.spare,
    find(key) {
      // May end the outage: a process that freezes after each response connects only while a call waits.
      if (outage !== null) connections.current()
      if (outage !== null) return Promise.reject(unavailable(outage))
      const found = Promise.withResolvers<StoredSession | null>()
      const deadline = performance.now() + timeoutMs
      const lookup: Lookup = { ...found, key, deadline, attempts: 0, begin: undefined }
      const beginsBatch = queue.push(lookup) % batchSize === 1 % batchSize
      send()
      if (beginsBatch && queue.length > 0) lookup.begin = inThisCall(send)
      return found.promise
    },
    async close() {
      rejectUntilReady(new Error('The database is closed'))
      await connections.close(Promise.all(running))
    },
  }
}

/** Returns a function that runs the callback in the caller's asynchronous context, which has its span. */
function inThisCall(callback: () => void): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  promise.then(callback)
  return resolve
}

/** Spreads a large batch over several turns of the event loop, since each result resumes its caller. */
function resolveAll(batch: readonly Lookup[], sessions: readonly LookupResult[]): void {
  for (let index = 0; index < Math.min(batch.length, MAX_RESULTS_PER_TURN); index++)
    batch[index]?.resolve(sessions[index] ?? null)
  if (batch.length > MAX_RESULTS_PER_TURN)
    setImmediate(resolveAll, batch.slice(MAX_RESULTS_PER_TURN), sessions.slice(MAX_RESULTS_PER_TURN))
}

function rejectAll(lookups: readonly Lookup[], error: unknown): void {
  for (const { reject } of lookups) reject(unavailable(error))
}

export function unavailable(cause: unknown): AuthError {
  return new AuthError('SESSIONS_UNAVAILABLE', { cause })
}
