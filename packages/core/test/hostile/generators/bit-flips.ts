import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

/** Flips one to eight bits of a valid token, in its text or in the bytes of a segment. */
export function flipBits(random: Random, target: Target): string {
  const { token, segments } = random.pick(target.tokens)
  const at = random.below(3)
  const flipped = random.chance(0.5)
    ? flip(Buffer.from(token), random).toString('latin1')
    : segments
        .with(at, flip(Buffer.from(segments[at] ?? '', 'base64url'), random).toString('base64url'))
        .join('.')
  // Two flips of the same bit cancel out.
  return flipped === token ? flipBits(random, target) : flipped
}

function flip(bytes: Buffer, random: Random): Buffer {
  const flips = 1 + random.below(8)
  for (let i = 0; i < flips; i++) {
    const offset = random.below(bytes.length)
    bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << random.below(8)), offset)
  }
  return bytes
}
