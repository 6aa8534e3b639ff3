import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

/** Segments of several tokens in one token, or segments spliced from two tokens. */
export function spliceSegments(random: Random, target: Target): string {
  const spliced = [0, 1, 2].map((at) => segment(at, random, target)).join('.')
  const isInOrder = target.tokens.some(({ token }) => token === spliced)
  return isInOrder ? spliceSegments(random, target) : spliced
}

function segment(at: number, random: Random, { tokens }: Target): string {
  const one = random.pick(tokens).segments[at] ?? ''
  if (random.chance(0.8)) return one
  const other = random.pick(tokens).segments[at] ?? ''
  const seam = random.below(one.length)
  return one.slice(0, seam) + other.slice(seam)
}
