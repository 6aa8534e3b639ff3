/**
 * `pnpm bench:scaling`: how costs grow with sessions, streams, and nodes. Prints Markdown tables, with the
 * lowest and the highest of five rounds in parentheses. `--chart` also draws `docs/images/scaling-*.svg`,
 * `--quick` leaves out the large sizes. `lookups`, `streams`, or `feed` measures only that part.
 */
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { drawChart } from '../../../../bench/draw-chart.ts'
import { measureFeed } from './feed.ts'
import { measureLookups } from './lookups.ts'
import { measureStreams } from './streams.ts'

const PARTS = [
  { name: 'lookups', measure: measureLookups, quick: 1e5, full: 1e7 },
  { name: 'streams', measure: measureStreams, quick: 1e3, full: 1e5 },
  { name: 'feed', measure: measureFeed, quick: 8, full: 64 },
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { chart: { type: 'boolean' }, quick: { type: 'boolean' } },
})
for (const { name, measure, quick, full } of PARTS) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  const chart = await measure(values.quick ? quick : full)
  const file = new URL(`../../../../docs/images/scaling-${name}.svg`, import.meta.url)
  if (values.chart) writeFileSync(file, drawChart(chart))
}
const day = new Date().toISOString().slice(0, 10)
console.log(`\n${day}, Node ${process.version}, load ${loadavg()[2]?.toFixed(1)}`)
process.exit()
