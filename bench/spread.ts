import { median } from './compare.ts'

/** The median of some rounds, with the lowest and the highest one. */
export interface Spread {
  readonly middle: number
  readonly lowest: number
  readonly highest: number
}

export function spreadOf(values: readonly number[]): Spread {
  return { middle: median(values), lowest: Math.min(...values), highest: Math.max(...values) }
}

export function formatSpread(values: readonly number[]): string {
  const { middle, lowest, highest } = spreadOf(values)
  return `${middle.toFixed(2)} (${lowest.toFixed(2)}–${highest.toFixed(2)})`
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.floor((sorted.length * percent) / 100)] ?? Number.NaN
}
