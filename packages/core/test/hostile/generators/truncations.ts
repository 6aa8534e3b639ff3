import type { Random } from '../random.ts'
import type { GenuineToken, Target } from '../target.ts'

/** Removes the end, the start, the middle, or a segment of a valid token. */
export function truncate(random: Random, { tokens }: Target): string {
  return random.pick(CUTS)(random.pick(tokens), random)
}

const CUTS: readonly ((genuine: GenuineToken, random: Random) => string)[] = [
  ({ token }, random) => token.slice(0, random.below(token.length)),
  ({ token }, random) => token.slice(1 + random.below(token.length)),
  ({ token }, random) => {
    const start = random.below(token.length)
    return token.slice(0, start) + token.slice(start + 1 + random.below(16))
  },
  ({ segments }, random) => {
    const at = random.below(3)
    const bytes = Buffer.from(segments[at] ?? '', 'base64url')
    return segments.with(at, bytes.subarray(0, random.below(bytes.length)).toString('base64url')).join('.')
  },
  ({ segments }, random) => segments.toSpliced(random.below(3), 1).join('.'),
  ({ segments }, random) => segments.with(random.below(3), '').join('.'),
  ({ segments }, random) => segments.slice(0, random.below(2)).join('.'),
]
