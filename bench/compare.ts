const RUNS = 5

/** A rate beside its baseline's, both medians. */
export interface Comparison {
  readonly rate: number
  readonly baselineRate: number
  /** Median of the ratios of neighbouring runs, in percent. */
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

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
