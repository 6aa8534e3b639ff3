import { WORKLOAD_NAMES } from './measure-rates.ts'
import { PEER_NAMES, PEERS } from './peers.ts'
import { type Comparison, spreadOf } from './print-tables.ts'

const PANEL = 360
const BAR = 12
const LABELS = 200
const GROUP = PEER_NAMES.length * BAR + 34
const TOP = 84
const COLORS = ['#3b82f6', '#d97706', '#10a37f', '#86c9a4', '#a855f7']

/** Draws calls per second relative to the bound as bars, with a line from the lowest to the highest round. */
export function drawChart(comparisons: readonly Comparison[]): string {
  const width = LABELS + 2 * PANEL
  const height = TOP + WORKLOAD_NAMES.length * GROUP
  const legend = PEER_NAMES.map(
    (name, i) =>
      `<rect x="${16 + (i % 3) * 300}" y="${12 + Math.floor(i / 3) * 20}" width="12" height="12" fill="${COLORS[i]}"/>` +
      text(34 + (i % 3) * 300, 22 + Math.floor(i / 3) * 20, PEERS[name]),
  )
  const panels = (['SQLite', 'PostgreSQL'] as const).map((database, panel) => {
    const x = LABELS + panel * PANEL
    const bars = WORKLOAD_NAMES.flatMap((workload, group) =>
      comparisons
        .filter((each) => each.workload === workload && each.peer.database === database)
        .map((each) => bar(each, { x, y: TOP + group * GROUP })),
    )
    const scale = [0, 0.5, 1].map((share) => {
      const at = x + share * (PANEL - 60)
      return `<path class="grid" d="M${at} ${TOP - 8}V${height - 20}"/>${text(at - 4, height - 6, String(share))}`
    })
    return [text(x, TOP - 16, database, 'bold'), ...scale, ...bars].join('')
  })
  const titles = WORKLOAD_NAMES.map((workload, group) => {
    const [what = '', how = ''] = workload.split(', ')
    return text(16, TOP + group * GROUP + 26, what, 'bold') + text(16, TOP + group * GROUP + 44, how)
  })
  const label = 'Calls per second relative to a procedure that checks nothing'
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
<style>
.back { fill: #ffffff } text { font: 13px system-ui, sans-serif; fill: #24292f } .bold { font-weight: 600 } .small { font-size: 11px }
.grid { stroke: #d0d7de } .range { stroke: #24292f }
@media (prefers-color-scheme: dark) {
.back { fill: #1b1b1f } text { fill: #e6e6e9 } .grid { stroke: #45454d } .range { stroke: #e6e6e9 } }
</style>
<rect class="back" width="${width}" height="${height}" rx="8"/>
${[...legend, ...titles, ...panels].join('\n')}
</svg>
`
}

function bar({ peer, ratios }: Comparison, { x, y }: { x: number; y: number }): string {
  const index = PEER_NAMES.indexOf(peer.name)
  const { middle, lowest, highest } = spreadOf(ratios.map(({ perSecond }) => perSecond))
  const [width, from, to] = [middle, lowest, highest].map((ratio) => (ratio * (PANEL - 60)).toFixed(1))
  const top = y + index * BAR
  const center = top + BAR / 2 - 1
  return (
    `<rect x="${x}" y="${top}" width="${width}" height="${BAR - 2}" fill="${COLORS[index]}"/>` +
    `<path class="range" transform="translate(${x} ${center})" d="M${from} 0H${to}"/>` +
    text(x + Number(to) + 5, top + BAR - 2, middle.toFixed(2), 'small')
  )
}

function text(x: number, y: number, content: string, kind = ''): string {
  return `<text x="${x}" y="${y}" class="${kind}">${content}</text>`
}
