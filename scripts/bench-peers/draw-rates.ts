import { drawChart } from '../../bench/draw-chart.ts'
import { spreadOf } from '../../bench/spread.ts'
import { WORKLOAD_NAMES } from './measure-rates.ts'
import { PEER_NAMES, PEERS } from './peers.ts'
import type { Comparison } from './print-tables.ts'

/** Draws calls per second relative to the bound, with a line from the lowest to the highest round. */
export function drawRates(comparisons: readonly Comparison[]): string {
  const panels = (['SQLite', 'PostgreSQL'] as const).map((database) => ({
    title: database,
    xLabel: '',
    yLabel: 'relative calls per second',
    xTicks: WORKLOAD_NAMES,
    series: PEER_NAMES.map((name) => ({
      name: PEERS[name],
      points: comparisons
        .filter(({ peer }) => peer.name === name && peer.database === database)
        .map(({ workload, ratios }) => ({
          x: WORKLOAD_NAMES.indexOf(workload),
          ...spreadOf(ratios.map(({ perSecond }) => perSecond)),
        })),
    })),
  }))
  return drawChart({ title: 'Calls per second, relative to a procedure that checks nothing (1)', panels })
}
