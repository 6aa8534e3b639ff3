/** Summarizes times in milliseconds, for a line of output. */
export function figuresOf(times: readonly number[]): { p50: number; p99: number; max: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
    return Math.round(value * 10) / 10
  }
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}
