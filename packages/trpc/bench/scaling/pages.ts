import type pg from 'pg'
import { printTable } from '../../../../bench/print-table.ts'
import { keyOf, postgresLookup, SESSIONS_PER_USER } from '../../../core/bench/many-sessions.ts'

const ON_PAPER = 1e8

/** PostgreSQL's figures for a database with this number of sessions. */
export interface Measured {
  readonly sessions: number
  /** Of sessions and users, with all indexes. */
  readonly bytes: number
  /** Entries on a page of the index that finds sessions by id, and of the one for users. */
  readonly entriesPerPage: { readonly session: number; readonly user: number }
  /** Pages that a lookup reads. */
  readonly pages: number
}

export async function measurePages(client: pg.Client, sessions: number): Promise<Measured> {
  const { rows: sizes } = await client.query(
    `select pg_total_relation_size('session') + pg_total_relation_size('"user"') as bytes,
      pg_relation_size('session_pkey') / 8192 as session, pg_relation_size('user_pkey') / 8192 as user`,
  )
  const [size] = sizes
  const { sessionId, userId } = keyOf(Math.floor(sessions / 2))
  await client.query('set enable_seqscan = off; set plan_cache_mode = force_generic_plan')
  await client.query(`prepare planned as ${postgresLookup()}`)
  const { rows: plans } = await client.query(
    `explain (analyze, buffers, format json) execute planned ('${sessionId}', '${userId}')`,
  )
  const { Plan: plan } = plans[0]['QUERY PLAN'][0]
  return {
    sessions,
    bytes: Number(size.bytes),
    entriesPerPage: {
      session: sessions / Number(size.session),
      user: sessions / SESSIONS_PER_USER / Number(size.user),
    },
    pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
  }
}

/** Prints the measured figures next to those calculated from the largest database, up to 100 million. */
export function calculatePages(measured: readonly Measured[]): void {
  const largest = measured.at(-1)
  if (largest === undefined) return
  const { session, user } = largest.entriesPerPage
  const bytesPerSession = largest.bytes / largest.sessions
  const calculate = (sessions: number) => {
    const levels = [levelsOf(sessions, session), levelsOf(sessions / SESSIONS_PER_USER, user)]
    return {
      levels,
      // The row itself is on one more page.
      pages: levels.reduce((sum, { length }) => sum + length + 1, 0),
      bytes: sessions * bytesPerSession,
    }
  }
  const rows = [...measured, { sessions: ON_PAPER, pages: '', bytes: null }].map(
    ({ sessions, pages, bytes }) => {
      const { pages: calculatedPages, bytes: calculatedBytes } = calculate(sessions)
      return [
        sessions,
        pages,
        calculatedPages,
        bytes === null ? '' : gigabytes(bytes),
        gigabytes(calculatedBytes),
      ]
    },
  )
  printTable(['PostgreSQL, sessions', 'Pages read', 'Calculated', 'Size in GB', 'Calculated'], rows)
  const { levels } = calculate(ON_PAPER)
  const names = [`sessions, ${session.toFixed(0)} entries a page`, `users, ${user.toFixed(0)} entries a page`]
  for (const [i, name] of names.entries())
    console.log(
      `Pages of each level, ${name}: ${levels[i]?.map((pages) => pages.toLocaleString('en')).join(' → ')}`,
    )
  console.log(`Bytes per session with its share of a user and all indexes: ${bytesPerSession.toFixed(0)}`)
}

/** Returns the pages of each level of an index, from its leaves to its root. */
function levelsOf(entries: number, entriesPerPage: number): number[] {
  const levels = [Math.ceil(entries / entriesPerPage)]
  for (let pages = levels[0] ?? 1; pages > 1; ) {
    pages = Math.ceil(pages / entriesPerPage)
    levels.push(pages)
  }
  return levels
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toPrecision(2)
}
