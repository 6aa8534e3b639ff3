import type { Client } from 'pg'
import { DeadlineError, withDeadline } from '../../protocol/deadline.ts'
import { AuthError } from '../../protocol/errors.ts'
import { backOff } from '../../protocol.ts'
import type { AuthAdapter } from '../../session/adapter.ts'
import { type AddedColumns, addedLists, NO_COLUMNS } from '../../session/added-columns.ts'
import type { SessionKey, StoredSession } from '../../session/session.ts'
import { type LookupValues, sessionOf } from '../../session/session-row.ts'
import type { SessionSql } from '../session-sql.ts'
import { type PostgresConnector, RECONNECT_PAUSE } from './connector.ts'
import { isStatementFault, sqlState } from './errors.ts'
import { type IdTypes, isIdOf } from './ids.ts'

/** Lookups that leave in one statement at most. */
const MOST_AT_ONCE = 256

const ANSWERS_A_TURN = 64

/** The connection that asks, and the one that stands by. */
const CONNECTIONS = 2

/** The SQLSTATE of `cached plan must not change result type`. */
const OUTDATED_PLAN = '0A000'

interface Waiting {
  readonly key: SessionKey
  readonly resolve: (session: StoredSession | null) => void
  readonly reject: (error: unknown) => void
  /** When whoever asked has given up, on the monotonic clock. */
  readonly until: number
  /** Its statement was lost with its connection before. */
  isSentAgain: boolean
}

/** What {@link postgresLookups} takes. */
export interface LookupOptions {
  readonly connector: PostgresConnector
  readonly sql: SessionSql
  readonly ids: IdTypes
  /** What `sql` reads besides. @default none */
  readonly columns?: AddedColumns
  readonly lookupTimeoutMs: number
}

/** Step 2 on a connection of its own. */
export interface PostgresLookups extends AuthAdapter {
  /** Resolves when no statement is under way. */
  close(): Promise<void>
}

/** Step 2 as one statement for any number of sessions. `place` tells whose row it is. */
function batchStatement({ session, user, added }: SessionSql, ids: IdTypes): string {
  return `select k.place::int4, ${session.columns}, ${user.columns}${added}
    from unnest($1::${ids.session}[], $2::${ids.user}[]) with ordinality as k("id", "userId", place)
    join ${session.table} s on s.${session.id} = k."id" and s.${session.userId} = k."userId"
    join ${user.table} u on u.${user.id} = s.${session.userId}`
}

/**
 * The first lookup leaves at once. Those that arrive while it is under way leave together when it is answered, as one prepared statement:
 * the busier the node, the fewer statements a lookup costs. None joins a statement that has been sent, so each sees all that was
 * committed before it was asked for.
 *
 * A connection that does not answer in time is given up and another, which stands by, takes over. What was under way on a connection
 * that broke is asked once more. While there is none, lookups wait for the attempt under way; when it fails they are 503.
 */
export function postgresLookups({
  connector,
  sql,
  ids,
  columns = NO_COLUMNS,
  lookupTimeoutMs,
}: LookupOptions): PostgresLookups {
  const text = batchStatement(sql, ids)
  const added = addedLists(columns)
  const clients: Client[] = []
  let line: Waiting[] = []
  let underWay: Promise<void> | null = null
  let preparing: Promise<void> | null = null
  let isConnecting = false
  let isClosed = false
  let outage: unknown = null
  /** How long the last answer took, in milliseconds. */
  let lastAnswerMs = 0

  function ask(client: Client, keys: readonly SessionKey[]) {
    const values = [keys.map(({ sessionId }) => sessionId), keys.map(({ userId }) => userId)]
    return withDeadline(
      client.query<[place: number, ...LookupValues]>({
        name: 'sallyport_lookup',
        text,
        values,
        rowMode: 'array',
      }),
      lookupTimeoutMs,
    )
  }

  /** A database that is too slow for all must not spend its time on those who will have given up by then. */
  function dropLate(): void {
    const answeredAt = performance.now() + lastAnswerMs
    const first = line.findIndex(({ until }) => until >= answeredAt)
    const late = line.splice(0, first === -1 ? line.length : first)
    for (const { reject } of late) reject(unavailable(new DeadlineError('No answer in time')))
  }

  function send(): void {
    const [client] = clients
    if (underWay !== null || client === undefined) return
    dropLate()
    if (line.length === 0) return
    const batch = line.slice(0, MOST_AT_ONCE)
    line = line.slice(MOST_AT_ONCE)
    underWay = answer(client, batch).then(() => {
      underWay = null
      send()
    })
  }

  async function answer(client: Client, batch: readonly Waiting[]): Promise<void> {
    const sentAt = performance.now()
    try {
      const { rows } = await ask(
        client,
        batch.map(({ key }) => key),
      )
      // Never so long that a lookup which has just been asked for would seem late.
      lastAnswerMs = Math.min(performance.now() - sentAt, lookupTimeoutMs / 2)
      const found = new Map(rows.map(([place, ...values]) => [place, values] as const))
      const answers = batch.map(({ key, resolve }, index) => {
        const values = found.get(index + 1)
        const session = values === undefined ? null : sessionOf(key, values, added)
        return () => resolve(session)
      })
      tell(answers)
    } catch (error) {
      lastAnswerMs = 0
      // A plan that was prepared before a column was changed is of no use any more, and goes with its connection.
      const isAtFault = isStatementFault(error) && sqlState(error) !== OUTDATED_PLAN
      // An id that the database cannot take must cost nobody else the answer.
      if (isAtFault && batch.length > 1) return answerEach(client, batch)
      if (!isAtFault) giveUp(client)
      const isLost = !isAtFault && !(error instanceof DeadlineError)
      const again = batch.filter(({ isSentAgain }) => isLost && !isSentAgain)
      for (const waiting of again) waiting.isSentAgain = true
      const failed = batch.filter((waiting) => !again.includes(waiting))
      for (const { reject } of failed) reject(unavailable(error))
      line = [...again, ...line]
      if (outage !== null) failAll(outage)
    }
  }

  /** What waits for an answer goes on at once, which a whole batch must not do in one turn of the event loop. */
  function tell(answers: readonly (() => void)[]): void {
    for (const answer of answers.slice(0, ANSWERS_A_TURN)) answer()
    const later = answers.slice(ANSWERS_A_TURN)
    if (later.length > 0) setImmediate(tell, later)
  }

  async function answerEach(client: Client, batch: readonly Waiting[]): Promise<void> {
    for (const waiting of batch) await answer(client, [waiting])
  }

  function giveUp(client: Client): void {
    const place = clients.indexOf(client)
    if (place !== -1) clients.splice(place, 1)
    void client.end().catch(() => {})
    void connect()
  }

  async function connect(): Promise<void> {
    if (isConnecting) return
    isConnecting = true
    let failures = 0
    while (!isClosed && clients.length < CONNECTIONS) {
      try {
        await addClient()
        failures = 0
        outage = null
        send()
      } catch (error) {
        failures++
        if (clients.length === 0) failAll(error)
        await new Promise((resolve) => setTimeout(resolve, backOff(failures, RECONNECT_PAUSE)).unref())
      }
    }
    isConnecting = false
  }

  async function addClient(): Promise<void> {
    const client = await connector.connect('sallyport-lookup')
    if (isClosed) return void client.end()
    preparing = prepare(client)
    await preparing.catch((error: unknown) => {
      void client.end().catch(() => {})
      throw error
    })
    if (isClosed) return void client.end()
    client.once('end', () => giveUp(client))
    clients.push(client)
  }

  /** So that taking over costs no more than the lookup. */
  async function prepare(client: Client): Promise<void> {
    // The planner takes any number of keys for ten, and would rather plan each statement anew, which costs more than to run it.
    await withDeadline(client.query('set plan_cache_mode = force_generic_plan'), lookupTimeoutMs)
    await ask(client, [])
  }

  function failAll(error: unknown): void {
    outage = error
    const waiting = line
    line = []
    for (const { reject } of waiting) reject(unavailable(error))
  }

  void connect()
  return {
    async findSession(key) {
      if (!isIdOf(ids.session, key.sessionId) || !isIdOf(ids.user, key.userId)) return null
      if (isClosed || outage !== null) throw unavailable(outage)
      return new Promise((resolve, reject) => {
        line.push({ key, resolve, reject, until: performance.now() + lookupTimeoutMs, isSentAgain: false })
        send()
      })
    },
    async close() {
      isClosed = true
      failAll(new Error('The database is closed'))
      // PostgreSQL goes on with the statement of a connection that is gone, and keeps its locks: the app may migrate next.
      await Promise.allSettled([underWay, preparing])
      for (const client of clients.splice(0)) void client.end()
    },
  }
}

function unavailable(cause: unknown): AuthError {
  return new AuthError('SESSIONS_UNAVAILABLE', { cause })
}
