import { setImmediate as nextTurn } from 'node:timers/promises'
import type { SessionKey } from '@sallyport/core'
import { median } from '../../../../bench/compare.ts'
import type { Panel } from '../../../../bench/draw-chart.ts'
import { printTable } from '../../../../bench/print-table.ts'
import { formatSpread, spreadOf } from '../../../../bench/spread.ts'
import { keyOf } from '../../../core/bench/many-sessions.ts'

const RUN_MS = 500
const ROUNDS = 5
const KEYS = 100_000
const TOGETHER = 256

type LookUp = (key: SessionKey) => unknown

/** A database with this number of sessions. */
export interface Sized {
  readonly sessions: number
  readonly bare: LookUp
  readonly step2: LookUp
  close(): Promise<void>
}

const VARIANTS = [
  { name: 'Bare statement', of: 'bare', together: 1 },
  { name: 'Step 2', of: 'step2', together: 1 },
  { name: `Step 2, ${TOGETHER} at once`, of: 'step2', together: TOGETHER },
] as const

/** Returns milliseconds. */
type Clock = () => number

/** Looks up random sessions in databases that take turns. Prints and returns how the time grows. */
export async function compareSizes(
  title: string,
  { databases, clock }: { databases: readonly Sized[]; clock: Clock },
): Promise<Panel> {
  const runs = databases.map((database) => {
    const keys = Array.from({ length: KEYS }, () => keyOf(Math.floor(Math.random() * database.sessions)))
    return VARIANTS.map(({ of, together }) => ({
      measure: () => measure(database[of], { keys, together, clock }),
      micros: [] as number[],
    }))
  })
  for (let round = -1; round < ROUNDS; round++)
    for (const { measure, micros } of runs.flat()) {
      const time = await measure()
      // The first round warms up.
      if (round >= 0) micros.push(time)
    }

  const grown = databases.map(({ sessions }, size) => ({
    sessions,
    variants: VARIANTS.map(({ name }, variant) => {
      const micros = runs[size]?.[variant]?.micros ?? []
      const smallest = runs[0]?.[variant]?.micros ?? []
      return { name, micros, growth: micros.map((time, round) => time / (smallest[round] ?? 0)) }
    }),
  }))
  const names = VARIANTS.map(({ name }) => name)
  printTable(
    [`${title}, sessions`, ...names.map((name) => `${name}, µs`), ...names.map((name) => `${name}, growth`)],
    grown.map(({ sessions, variants }) => [
      sessions,
      ...variants.map(({ micros }) => median(micros).toFixed(1)),
      ...variants.map(({ growth }) => formatSpread(growth)),
    ]),
  )
  const series = names.map((name, variant) => ({
    name,
    points: grown.map(({ sessions, variants }) => ({
      x: sessions,
      ...spreadOf(variants[variant]?.growth ?? []),
    })),
  }))
  const xTicks = databases.map(({ sessions }) => sessions)
  return { title, xLabel: 'sessions', yLabel: 'relative time', xTicks, series }
}

/** Returns microseconds per lookup. */
async function measure(
  lookUp: LookUp,
  { keys, together, clock }: { keys: readonly SessionKey[]; together: number; clock: Clock },
): Promise<number> {
  const first = Math.floor(Math.random() * keys.length)
  let count = first
  const next = () => lookUp(keys[count++ % keys.length] ?? keyOf(0))
  const endsAt = performance.now() + RUN_MS
  const startedAt = clock()
  while (performance.now() < endsAt) {
    const found = together === 1 ? [await next()] : await Promise.all(Array.from({ length: together }, next))
    if (found.some((session) => session === null || session === undefined)) throw new Error('No session')
    if (together > 1) await nextTurn()
  }
  return ((clock() - startedAt) / (count - first)) * 1_000
}
