import { setTimeout as sleep } from 'node:timers/promises'
import { revokeSessions } from '@sallyport/core/auth'
import type { Chart } from '../../../../bench/draw-chart.ts'
import { printTable } from '../../../../bench/print-table.ts'
import { spreadOf } from '../../../../bench/spread.ts'
import { keyOf, SESSIONS_PER_USER } from '../../../core/bench/many-sessions.ts'
import { startPostgres } from '../../../core/test/support/embedded-postgres.ts'
import { type Filled, fillNewPostgres, fillNewSqlite } from './filled.ts'
import { createSessionOpener, type OpenSession } from './open-session.ts'
import { powers } from './powers.ts'

/** In this time, each session is read about three times. */
const RENEWAL_MS = 6_000
/** With fewer streams, the process's other objects would distort the result. */
const MIN_STREAMS_OF_MEMORY = 1_000
const OPENED_AT_ONCE = 100

type Fill = (sessions: number) => Promise<Filled>

interface Costs {
  readonly streams: number
  readonly kilobytes: number | null
  readonly processorMs: number
  readonly userMs: number
  readonly allMs: number
}

/** Measures streams in one process: each has its own session, and ten more belong to one user. */
export async function measureStreams(max: number): Promise<Chart> {
  const server = await startPostgres()
  const open = await createSessionOpener()
  const fills = {
    SQLite: fillNewSqlite,
    PostgreSQL: (sessions: number) => fillNewPostgres(server, sessions),
  }
  const costs = new Map<string, Costs[]>()
  for (const [name, fill] of Object.entries(fills)) {
    const measured = []
    for (const streams of powers(10, { to: max })) measured.push(await measure(streams, { fill, open }))
    costs.set(name, measured)
    printTable(
      [
        `${name}, streams`,
        'Memory, KB a stream',
        'Renewals, ms of processor time a second',
        'One user ends, ms',
        'All end, ms',
      ],
      measured.map(({ streams, kilobytes, processorMs, userMs, allMs }) => [
        streams,
        kilobytes?.toFixed(1) ?? '',
        processorMs.toFixed(1),
        userMs.toFixed(1),
        allMs.toFixed(1),
      ]),
    )
  }
  await server.stop()

  const axis = { xLabel: 'streams in one process', xTicks: powers(10, { to: max }) }
  const curves = (what: 'processorMs' | 'userMs' | 'allMs', label: string) =>
    [...costs].map(([name, measured]) => ({
      name: `${label}, ${name}`,
      points: measured.map((each) => ({ x: each.streams, ...spreadOf([each[what]]) })),
    }))
  return {
    title: 'Cost of open streams',
    panels: [
      {
        ...axis,
        title: 'Renewals of leases',
        yLabel: 'ms of processor time per second',
        series: curves('processorMs', 'renewals'),
      },
      {
        ...axis,
        title: 'From a revocation to the last end',
        yLabel: 'ms',
        series: [...curves('userMs', 'one user'), ...curves('allMs', 'all users')],
      },
    ],
  }
}

async function measure(streams: number, { fill, open }: { fill: Fill; open: OpenSession }): Promise<Costs> {
  const firstOfUser = Math.ceil(streams / SESSIONS_PER_USER) * SESSIONS_PER_USER
  const { database, revokeAll, close } = await fill(firstOfUser + SESSIONS_PER_USER)
  const openSome = async (from: number, count: number) => {
    const ends: Promise<number>[] = []
    for (let at = from; at < from + count; at += OPENED_AT_ONCE) {
      const indexes = Array.from({ length: Math.min(OPENED_AT_ONCE, from + count - at) }, (_, i) => at + i)
      const opened = await Promise.all(indexes.map((index) => open(index, database)))
      ends.push(...opened.map(({ ended }) => ended))
    }
    return ends
  }
  // The first streams load code. They belong to the user.
  const user = await openSome(firstOfUser, SESSIONS_PER_USER)
  const before = heapBytes()
  const others = await openSome(0, streams)
  const bytes = heapBytes() - before
  const processorMs = await processorTime()
  const userMs = await timeUntil(user, () => revokeSessions(keyOf(firstOfUser).userId, database))
  const allMs = await timeUntil(others, revokeAll)
  await close()
  const kilobytes = streams < MIN_STREAMS_OF_MEMORY ? null : bytes / streams / 1_024
  return { streams, kilobytes, processorMs, userMs, allMs }
}

/** Returns the milliseconds from sending a revocation to the end of the last stream. */
async function timeUntil(ends: readonly Promise<number>[], revoke: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  const [times] = await Promise.all([Promise.all(ends), revoke()])
  return times.reduce((last, time) => Math.max(last, time), 0) - startedAt
}

/** Returns milliseconds of this process per second, without its database server. */
async function processorTime(): Promise<number> {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  await sleep(RENEWAL_MS)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (performance.now() - startedAt)
}

function heapBytes(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
