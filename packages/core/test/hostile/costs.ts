/** The processor time of tokens, in microseconds. */
export interface Cost {
  readonly generator: string
  readonly token: string
  readonly micros: number
}

/** Collects costs. Keeps all figures and the most expensive tokens of each generator. */
export interface Costs {
  add(cost: Cost): void
  /** One line for each class of length. */
  readonly classes: readonly LengthClass[]
  /** Returns a quantile of all costs together. */
  quantile(share: number): number
  readonly dearest: readonly Cost[]
}

/** Tokens of about the same length. */
export interface LengthClass {
  /** The greatest length of the class. */
  readonly length: number
  readonly count: number
  readonly median: number
  readonly p999: number
  /** The generator whose p99.9 is highest. */
  readonly worst: { readonly generator: string; readonly p999: number }
}

const CLASS_WIDTH = 500
const LONGEST = 4_000
const KEPT = 20

/** Returns the class of a length. All lengths above the longest token share one. */
export function lengthClass(length: number): number {
  return Math.min(LONGEST, Math.max(1, Math.ceil(length / CLASS_WIDTH)) * CLASS_WIDTH)
}

export function createCosts(): Costs {
  const micros = new Map<number, Map<string, number[]>>()
  const dearest = new Map<string, Cost[]>()

  function add(cost: Cost): void {
    const length = lengthClass(cost.token.length)
    const ofLength = micros.get(length) ?? new Map<string, number[]>()
    const ofGenerator = ofLength.get(cost.generator) ?? []
    ofGenerator.push(cost.micros)
    micros.set(length, ofLength.set(cost.generator, ofGenerator))

    const kept = dearest.get(cost.generator) ?? []
    if (kept.length === KEPT && (kept.at(-1)?.micros ?? 0) >= cost.micros) return
    kept.push(cost)
    dearest.set(cost.generator, kept.sort((a, b) => b.micros - a.micros).slice(0, KEPT))
  }

  return {
    add,
    get classes() {
      return [...micros]
        .sort(([a], [b]) => a - b)
        .map(([length, generators]) => {
          const all = [...generators.values()].flat()
          const worst = [...generators]
            .map(([generator, values]) => ({ generator, p999: quantile(values, 0.999) }))
            .sort((a, b) => b.p999 - a.p999)
          const none = { generator: '', p999: Number.NaN }
          return {
            length,
            count: all.length,
            median: quantile(all, 0.5),
            p999: quantile(all, 0.999),
            worst: worst[0] ?? none,
          }
        })
    },
    quantile: (share) =>
      quantile(
        [...micros.values()].flatMap((ofLength) => [...ofLength.values()].flat()),
        share,
      ),
    get dearest() {
      return [...dearest.values()].flat()
    },
  }
}

/** Returns the value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
