/** Pseudorandom numbers, the same in every run (mulberry32). */
export interface Random {
  /** Returns a whole number below `limit`. */
  below(limit: number): number
  pick<Item>(items: readonly [Item, ...Item[]]): Item
}

export function createRandom(seed: number): Random {
  let state = seed
  function below(limit: number): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
  return { below, pick: ([first, ...others]) => [first, ...others][below(others.length + 1)] ?? first }
}
