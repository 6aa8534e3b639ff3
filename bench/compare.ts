const RUNS = 5

/** A rate and the rate of its baseline, both medians. */
export interface Comparison {
  readonly rate: number
  readonly baselineRate: number
  /** The median of the ratios of neighboring runs, in percent. */
  readonly percent: number
}

/** Measures two rates in turn, five times each, after one unmeasured turn to warm up. */
export async function alternate(
  measure: () => Promise<number>,
  baseline: () => Promise<number>,
): Promise<Comparison> {
  await baseline()
  await measure()
  const runs = []
  for (let run = 0; run < RUNS; run++) {
    const baselineRate = await baseline()
    runs.push({ rate: await measure(), baselineRate })
  }
  return {
    rate: median(runs.map((run) => run.rate)),
    baselineRate: median(runs.map((run) => run.baselineRate)),
    percent: median(runs.map((run) => (run.rate / run.baselineRate) * 100)),
  }
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
