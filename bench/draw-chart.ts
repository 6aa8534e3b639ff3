import type { Spread } from './spread.ts'

/** Panels side by side, with a legend of up to six names. Vertical axes are logarithmic. */
export interface Chart {
  readonly title: string
  readonly panels: readonly Panel[]
}

export interface Panel {
  readonly title: string
  readonly xLabel: string
  readonly yLabel: string
  /** Numbers for a logarithmic axis with lines between the points, or the names of the first, second, ... */
  readonly xTicks: readonly (number | string)[]
  readonly series: readonly Series[]
}

export interface Series {
  readonly name: string
  readonly points: readonly Point[]
}

/** A spread is drawn as a line from the lowest to the highest. */
export interface Point extends Spread {
  readonly x: number
}

const [WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM] = [400, 240, 66, 24, 64]
const PANEL = LEFT + WIDTH + RIGHT
const [LEGEND_WIDTH, LEGEND_HEIGHT] = [230, 20]
/** Readable on white and on black. */
const COLORS = ['#3b82f6', '#d97706', '#10a37f', '#e11d48', '#a855f7', '#64748b']
const MARKS = [
  'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z',
  'M-4-4h8v8h-8z',
  'M0-5L5 4H-5z',
  'M0-5L5 0L0 5L-5 0z',
  'M0 5L5-4H-5z',
  'M-6-2h12v4h-12z',
]
const STYLE = `.back { fill: #ffffff } .grid { stroke: #d8dee4 } .line { fill: none; stroke-width: 2 }
text { font: 13px system-ui, sans-serif; fill: #24292f; text-anchor: middle }
.start { text-anchor: start } .end { text-anchor: end } .bold { font-weight: 600 } .tick { font-size: 11px }
@media (prefers-color-scheme: dark) { .back { fill: #1b1b1f } text { fill: #e6e6e9 } .grid { stroke: #3c3c44 } }`

export function drawChart({ title, panels }: Chart): string {
  const names = [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))]
  const width = panels.length * PANEL
  const columns = Math.max(1, Math.floor((width - LEFT) / LEGEND_WIDTH))
  const legend = names.map((name, i) => {
    const [x, y] = [i % columns, Math.floor(i / columns)]
    const move = `translate(${LEFT + 6 + x * LEGEND_WIDTH} ${52 + y * LEGEND_HEIGHT})`
    return `<g transform="${move}">${mark(i)}${text(name, { x: 12, y: 4, kind: 'start' })}</g>`
  })
  const top = 80 + Math.ceil(names.length / columns) * LEGEND_HEIGHT
  const height = top + HEIGHT + BOTTOM
  const drawn = panels.map(
    (panel, i) => `<g transform="translate(${i * PANEL + LEFT} ${top})">\n${drawPanel(panel, names)}\n</g>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<style>
${STYLE}
</style>
<rect class="back" width="${width}" height="${height}" rx="8"/>
${[text(title, { x: LEFT, y: 28, kind: 'bold start' }), ...legend, ...drawn].join('\n')}
</svg>
`
}

function drawPanel({ title, xLabel, yLabel, xTicks, series }: Panel, names: readonly string[]): string {
  const values = series.flatMap(({ points }) => points.flatMap(({ lowest, highest }) => [lowest, highest]))
  const yTicks = ticksAround(Math.min(...values), Math.max(...values))
  const yAt = logScale(yTicks, { from: HEIGHT, to: 0 })
  const numbers = xTicks.filter((tick) => typeof tick === 'number')
  const isCurve = numbers.length > 0
  const band = WIDTH / xTicks.length
  const curveAt = logScale(numbers, { from: 0, to: WIDTH })
  const grid = xTicks.map((tick, i) => {
    const x = typeof tick === 'number' ? curveAt(tick) : round(band * (i + 0.5))
    const lines = (typeof tick === 'number' ? short(tick) : tick).split(', ')
    const name = lines.map((each, row) => text(each, { x, y: HEIGHT + 16 + row * 14, kind: 'tick' }))
    return `<path class="grid" d="M${isCurve ? x : round(band * i)} 0V${HEIGHT}"/>${name.join('')}`
  })
  const levels = yTicks.map(
    (y) =>
      `<path class="grid" d="M0 ${yAt(y)}H${WIDTH}"/>${text(short(y), { x: -8, y: yAt(y) + 4, kind: 'tick end' })}`,
  )
  const drawn = series.map(({ name, points }) => {
    const place = names.indexOf(name)
    const beside = (place - (names.length - 1) / 2) * (0.8 / names.length) + 0.5
    const xAt = (x: number) => (isCurve ? curveAt(x) : round(band * (x + beside)))
    const at = points.map(({ x, middle }) => `${xAt(x)} ${yAt(middle)}`)
    const curve = isCurve && at.length > 0 ? `M${at.join('L')}` : ''
    const ranges = points.map(({ x, lowest, highest }) => `M${xAt(x)} ${yAt(lowest)}V${yAt(highest)}`)
    const marks = at.map((each) => `<g transform="translate(${each})">${mark(place)}</g>`)
    return `<path class="line" stroke="${COLORS[place]}" d="${curve}${ranges.join('')}"/>${marks.join('')}`
  })
  const labels = [
    text(title, { x: 0, y: -12, kind: 'bold start' }),
    text(xLabel, { x: WIDTH / 2, y: HEIGHT + 48 }),
    `<g transform="translate(-48 ${HEIGHT / 2}) rotate(-90)">${text(yLabel, { x: 0, y: 0 })}</g>`,
  ]
  return [...grid, ...levels, ...labels, ...drawn].join('\n')
}

/** Returns powers of ten around the values, or 1, 2, 5, 10, ... if there would be few. */
function ticksAround(lowest: number, highest: number): number[] {
  const powers = Array.from({ length: 24 }, (_, i) => 10 ** (i - 12))
  const all = highest / lowest > 300 ? powers : powers.flatMap((power) => [power, 2 * power, 5 * power])
  const from = all.findLastIndex((tick) => tick <= lowest * 1.0001)
  const to = all.findIndex((tick) => tick >= highest)
  return all.slice(Math.max(0, from), Math.max(to, from + 1) + 1)
}

function logScale(
  ticks: readonly number[],
  { from, to }: { from: number; to: number },
): (value: number) => number {
  const [lowest, highest] = [Math.log(Math.min(...ticks)), Math.log(Math.max(...ticks))]
  return (value) => round(from + ((Math.log(value) - lowest) / (highest - lowest)) * (to - from))
}

function short(value: number): string {
  if (value >= 1e6) return `${value / 1e6}M`
  return value >= 1e4 ? `${value / 1e3}k` : String(Number(value.toPrecision(2)))
}

function mark(place: number): string {
  return `<path fill="${COLORS[place]}" d="${MARKS[place]}"/>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function text(content: string, { x, y, kind = '' }: { x: number; y: number; kind?: string }): string {
  return `<text x="${x}" y="${y}" class="${kind}">${content}</text>`
}
