import { Fault } from '../../../events/failure-code.ts'
import type { StoreMeter } from '../../../events/telemetry.ts'
import { withDeadline } from '../../../protocol/deadline.ts'
import type { PgPool, PgPoolClient } from './clients.ts'
import type { PostgresDriver, Query, ReservedConnection, Statement } from './driver.ts'
import { isStatementFault } from './errors.ts'
import { pgListening, pgQuery } from './pg-connection.ts'

interface PgOptions {
  /** Prepares a connection that wasn't used before. Its error closes the connection. */
  readonly prepare?: (query: Query) => Promise<void>
  /** After this, a connection that doesn't respond is closed. @default the timeouts of the pool */
  readonly timeoutMs?: number
  /** Replaces a connection that was idle for longer: the timers of the pool stop in a frozen process. */
  readonly maxIdleMs?: number
  readonly meter?: StoreMeter
}

/** Runs statements on a `Pool` of `pg`, or one of the same shape. */
export function pgPoolDriver(
  pool: PgPool,
  { prepare, timeoutMs, maxIdleMs = Number.POSITIVE_INFINITY, meter }: PgOptions = {},
): Required<Pick<PostgresDriver, 'query' | 'connect' | 'listen'>> {
  const prepared = new WeakSet<PgPoolClient>()
  const releasedAt = new WeakMap<PgPoolClient, number>()
  const listening = new Set<() => void>()
  let isFollowed = false
  let isEnding = false
  const timed = <Result>(work: Promise<Result>) =>
    timeoutMs === undefined ? work : withDeadline(work, timeoutMs)

  async function acquire(): Promise<PgPoolClient> {
    const connecting = measureWait(pool.connect(), meter)
    const client = await timed(connecting).catch((error: unknown) => {
      // The pool may still open it.
      connecting.then((late) => late.release()).catch(() => {})
      throw isExhausted(pool) ? new Fault('POOL_EXHAUSTED', 'No connection became free', error) : error
    })
    // A running query gets the error too. Without a listener, a connection in use would end the process.
    client.on('error', ignore)
    const idleMs = Date.now() - (releasedAt.get(client) ?? Number.POSITIVE_INFINITY)
    // The app may have left a transaction open, in which a lookup would read an old snapshot.
    if (!isIdle(client) || idleMs > maxIdleMs) {
      // A server that was lost in a freeze never closes its end.
      client.unref?.()
      release(client, true)
      return acquire()
    }
    if (prepare === undefined || prepared.has(client)) return client
    await prepare((statement) => timed(pgQuery(client)(statement))).catch((error: unknown) => {
      release(client, true)
      throw error
    })
    prepared.add(client)
    return client
  }

  function release(client: PgPoolClient, discard: boolean): void {
    releasedAt.set(client, Date.now())
    client.release(discard)
    client.removeListener('error', ignore)
  }

  function endListening(): void {
    isEnding = true
    for (const end of listening) end()
  }

  async function connect(): Promise<ReservedConnection> {
    const client = await acquire()
    const run = pgQuery(client)
    let lost: unknown
    let isOpen = false
    const onError = (error: unknown) => {
      lost ??= error
    }
    client.on('error', onError)
    return {
      async query<Row>(statement: Statement) {
        // Not every driver reports an open transaction. A statement without an answer leaves it open.
        if (/^(begin|start transaction)\b/.test(statement.text)) isOpen = true
        const result = await timed(run<Row>(statement)).catch((error: unknown) => {
          // Such as a timeout between two statements. The statement's own error doesn't name it.
          throw lost ?? error
        })
        if (/^(commit|rollback)$/.test(statement.text)) isOpen = false
        return result
      },
      release() {
        client.removeListener('error', onError)
        // Never reuse a connection that was abandoned in a statement or transaction.
        release(client, isOpen || !isIdle(client))
      },
    }
  }

  return {
    connect,
    async query<Row>(statement: Statement) {
      const client = await acquire()
      let isBroken = true
      try {
        const result = await timed(pgQuery(client)<Row>(statement))
        isBroken = false
        return result
      } catch (error) {
        isBroken = !isStatementFault(error)
        throw error
      } finally {
        release(client, isBroken || !isIdle(client))
      }
    },
    async listen(channel, events) {
      if (!isFollowed) beforeEnd(pool, endListening)
      isFollowed = true
      const client = await acquire()
      if (isEnding) {
        release(client, true)
        throw new Error('The pool has ended')
      }
      const end = () => {
        if (!listening.delete(end)) return
        client.ref?.()
        release(client, true)
      }
      listening.add(end)
      client.unref?.()
      return pgListening(client, {
        channel,
        events,
        end,
        query: (statement) => timed(pgQuery(client)(statement)),
      })
    },
  }
}

/** Records how long a caller waits for a connection, even if it gets none. */
function measureWait(
  connecting: Promise<PgPoolClient>,
  meter: StoreMeter | undefined,
): Promise<PgPoolClient> {
  if (meter?.telemetry === undefined) return connecting
  const { telemetry, system } = meter
  const startedAt = performance.now()
  const record = () => telemetry.record('poolWait', (performance.now() - startedAt) / 1000, { system })
  connecting.then(record, record)
  return connecting
}

const ignore = () => {}

/** Returns whether a caller waits for a connection of others. Not every pool says so. */
function isExhausted(pool: PgPool): boolean {
  return 'waitingCount' in pool && Number(pool.waitingCount) > 0
}

/** Runs the callback when the app ends its pool, which waits for every connection in use. */
function beforeEnd(pool: PgPool, callback: () => void): void {
  const { end } = pool
  if (end === undefined) return
  Reflect.set(pool, 'end', (...args: never[]) => {
    callback()
    return end.apply(pool, args)
  })
}

/** Returns whether no statement or transaction is open. The driver's types lack `readyForQuery`. */
function isIdle(client: object): boolean {
  const isReady = !('readyForQuery' in client) || client.readyForQuery === true
  const status = 'getTransactionStatus' in client ? client.getTransactionStatus : null
  return isReady && (typeof status !== 'function' || status.call(client) === 'I')
}
