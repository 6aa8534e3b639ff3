/**
 * Measures Step 2 against the bare prepared statement in the same run: lookups a second and their duration,
 * on SQLite with up to a million sessions, and on PostgreSQL with a pool of ten connections. Prints medians
 * of 25 short runs in which all take turns, since a machine is rarely quiet for longer.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SessionKey } from '@sallyport/core'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import pg from 'pg'
import { median } from '../../../bench/compare.ts'
import { sessionSql } from '../src/database/find-session-sql.ts'
import { lookupStatement } from '../src/database/sqlite/find-session.ts'
import { startPostgres } from '../test/support/embedded-postgres.ts'
import { bareLookup, fillPostgres, fillSqlite, keyOf } from './many-sessions.ts'

const RUN_MS = Number(process.env.BENCH_SECONDS ?? 0.1) * 1_000
const RUNS = 25
const CONCURRENCIES = [1, 32, 256]
const SQLITE_SESSIONS = [1_000, 100_000, 1_000_000]
const POSTGRES_SESSIONS = 100_000
const POOL_SIZE = 10
/** Random keys, chosen before the measurement. */
const KEYS = 50_000

/** An implementation of the lookup. */
interface Variant {
  readonly name: string
  readonly lookUp: (key: SessionKey) => unknown
}

/** The result of a run; times in microseconds. */
interface Figures {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

type Run = (variant: Variant, keys: readonly SessionKey[], concurrency: number) => Promise<Figures>

printRow('', ['lookups/s', 'p50 µs', 'p99 µs', 'of bare'])
for (const count of SQLITE_SESSIONS) await measureSqlite(count)
await measurePostgres()

async function measureSqlite(count: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  const path = join(directory, 'bench.db')
  await (await openSqlite(path)).close()
  fillSqlite(path, count)

  const { sessions, close } = await openSqlite(path)
  const reader = new Database(path, { readonly: true })
  const statement = reader.prepare(lookupStatement(sessionSql('sqlite'))).raw()
  const variants = [
    { name: 'bare statement', lookUp: (key: SessionKey) => statement.get(key.sessionId, key.userId) },
    { name: 'findSession', lookUp: sessions.findSession },
  ]
  const title = `SQLite, ${count.toLocaleString('en')} sessions`
  for (const concurrency of CONCURRENCIES)
    await compare(title, { variants, count, concurrency, run: runInTurns })
  reader.close()
  await close()
  rmSync(directory, { recursive: true })
}

async function measurePostgres(): Promise<void> {
  const server = await startPostgres()
  try {
    const url = await server.createDatabase('bench')
    const { sessions, close } = await openPostgres(url)
    const pool = new pg.Pool({ connectionString: url, max: POOL_SIZE })
    const client = new pg.Client(url)
    await client.connect()
    await fillPostgres(client, POSTGRES_SESSIONS)
    const variants = [
      { name: 'bare statement, one connection', lookUp: oneAfterTheOther(bareLookup(client)) },
      { name: 'bare statement, pool of ten', lookUp: bareLookup(pool) },
      { name: 'findSession, batched', lookUp: sessions.findSession },
    ]
    const title = `PostgreSQL, ${POSTGRES_SESSIONS.toLocaleString('en')} sessions`
    for (const concurrency of CONCURRENCIES)
      await compare(title, { variants, count: POSTGRES_SESSIONS, concurrency, run: runSideBySide })
    await client.end()
    await pool.end()
    await close()
  } finally {
    await server.stop()
  }
}

/** Returns a lookup that waits for the one before: a connection runs one statement at a time. */
function oneAfterTheOther(lookUp: Variant['lookUp']): Variant['lookUp'] {
  let last: Promise<unknown> = Promise.resolve()
  return (key) => {
    last = last.then(() => lookUp(key))
    return last
  }
}

async function compare(
  title: string,
  options: { variants: readonly Variant[]; count: number; concurrency: number; run: Run },
): Promise<void> {
  const { variants, count, concurrency, run } = options
  const keys = Array.from({ length: KEYS }, () => keyOf(Math.floor(Math.random() * count)))
  const runs = new Map(variants.map((variant) => [variant, [] as Figures[]]))
  for (const variant of variants) await run(variant, keys, concurrency)
  for (let i = 0; i < RUNS; i++)
    for (const [variant, figures] of runs) figures.push(await run(variant, keys, concurrency))

  console.log(`\n${title}, ${concurrency} at once`)
  const [bare] = runs.values()
  const bareRate = median((bare ?? []).map(({ perSecond }) => perSecond))
  for (const [{ name }, figures] of runs) {
    const of = (name: keyof Figures) => median(figures.map((each) => each[name]))
    const ratio = (of('perSecond') / bareRate).toFixed(2)
    printRow(`  ${name}`, [Math.round(of('perSecond')), of('p50').toFixed(1), of('p99').toFixed(1), ratio])
  }
}

/** Makes so many lookups per turn of the event loop, like a busy server with an in-process database. */
async function runInTurns(
  { lookUp }: Variant,
  keys: readonly SessionKey[],
  concurrency: number,
): Promise<Figures> {
  const times: number[] = []
  const startedAt = performance.now()
  for (let next = 0; performance.now() - startedAt < RUN_MS; next += concurrency) {
    const lookups = Array.from({ length: concurrency }, (_, i) => timed(lookUp, at(keys, next + i), times))
    await Promise.all(lookups)
    if (concurrency > 1) await nextTurn()
  }
  return figuresOf(times, performance.now() - startedAt)
}

/** Runs so many callers, each of which waits for the result before its next lookup. */
async function runSideBySide(
  { lookUp }: Variant,
  keys: readonly SessionKey[],
  concurrency: number,
): Promise<Figures> {
  const times: number[] = []
  const startedAt = performance.now()
  let next = 0
  async function callInTurn(): Promise<void> {
    while (performance.now() - startedAt < RUN_MS) await timed(lookUp, at(keys, next++), times)
  }
  await Promise.all(Array.from({ length: concurrency }, callInTurn))
  return figuresOf(times, performance.now() - startedAt)
}

/** Measures one lookup. Throws if it finds no session. */
async function timed(lookUp: Variant['lookUp'], key: SessionKey, times: number[]): Promise<void> {
  const startedAt = performance.now()
  const result = lookUp(key)
  const found = result instanceof Promise ? await result : result
  times.push(performance.now() - startedAt)
  if (found === null || found === undefined) throw new Error('A session was not found')
}

function figuresOf(times: number[], elapsedMs: number): Figures {
  const sorted = Float64Array.from(times).sort()
  const micros = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN) * 1_000
  return { perSecond: (times.length / elapsedMs) * 1_000, p50: micros(0.5), p99: micros(0.99) }
}

function at(keys: readonly SessionKey[], index: number): SessionKey {
  const key = keys[index % keys.length]
  if (key === undefined) throw new Error('No key')
  return key
}

function printRow(name: string, columns: readonly (string | number)[]): void {
  console.log(name.padEnd(36), ...columns.map((column) => String(column).padStart(11)))
}
