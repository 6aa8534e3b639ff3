import { createHash } from 'node:crypto'

/** Random numbers, the same for the same seed. */
export interface Random {
  /** Returns a whole number from 0 to below `limit`. */
  below(limit: number): number
  /** Returns true for this share of the calls. */
  chance(share: number): boolean
  pick<Value>(values: readonly Value[]): Value
  bytes(length: number): Buffer
  shuffle<Value>(values: readonly Value[]): Value[]
}

/** Returns a function that draws each value once in random order, and then begins again. */
export function createDeck<Value>(values: readonly Value[], random: Random): () => Value {
  let left: Value[] = []
  return () => {
    if (left.length === 0) left = random.shuffle(values)
    const [drawn] = left.splice(-1)
    if (drawn === undefined) throw new RangeError('There is nothing to draw')
    return drawn
  }
}

/** Creates the generator sfc32, initialized with the hash of the seed. */
export function createRandom(seed: string): Random {
  const hash = createHash('sha256').update(seed).digest()
  let [a, b, c, d] = [0, 4, 8, 12].map((offset) => hash.readUInt32LE(offset)) as [
    number,
    number,
    number,
    number,
  ]

  function next(): number {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }

  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    chance: (share) => next() < share,
    pick(values) {
      const index = below(values.length)
      if (values.length === 0) throw new RangeError('There is nothing to pick from')
      return values[index] as (typeof values)[number]
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
    shuffle: (values) =>
      values
        .map((value) => ({ value, at: next() }))
        .sort((a, b) => a.at - b.at)
        .map(({ value }) => value),
  }
}
