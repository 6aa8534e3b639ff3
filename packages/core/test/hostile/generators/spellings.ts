import { toSegment } from '../../support/forge-token.ts'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const STRANGE = [
  ...['=', '==', '+', '/', '+/', '%', '%20', '%3D', '%2E', '\\', '"', "'", ',', ':', '~', '*', '@', '$', '#'],
  ...[' ', '\t', '\n', '\r\n', '\u0000', '\u000b', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u00ff', 'é'],
  ...['\u200b', '\u2028', '\u2060', '\ufeff', '\uff21', '\u0430', '\ud800', '😀', '.', '..', 'A', '_'],
]

/** White space in JavaScript but not in HTTP (RFC 9110 section 5.6.3), so no header field trims it. */
const NOT_OWS = ['\u000b', '\u000c', '\u00a0', '\u2028', '\u3000', '\ufeff']

/** A segment that decodes to the same bytes, or isn't base64url at all. */
const RESPELL: readonly ((segment: string, random: Random) => string)[] = [
  (segment) => `${segment}${'='.repeat((4 - (segment.length % 4)) % 4 || 1)}`,
  (segment) => `${segment}=`,
  (segment) => `${segment.replaceAll('-', '+').replaceAll('_', '/')}+`,
  (segment) => withTrailingBits(segment),
  (segment) => Buffer.from(segment, 'base64url').toString('hex').slice(0, 1_000),
  (segment) => encodeURIComponent(`${segment}=`),
  // One character more than fits into groups of four.
  (segment) => `${segment}${'A'.repeat((5 - (segment.length % 4)) % 4 || 4)}`,
  (segment, random) => insert(segment, random),
  (segment, random) => segment + random.pick(NOT_OWS),
]

/** Spells a valid token differently. Also signs it over that spelling, which is then its only fault. */
export function spellDifferently(random: Random, target: Target): string {
  const genuine = random.pick(target.tokens)
  const at = random.below(3)
  const [header, payload, signature] = genuine.segments.with(
    at,
    random.pick(RESPELL)(
      at < 2 ? unaligned(genuine.segments[at] ?? '') : (genuine.segments[at] ?? ''),
      random,
    ),
  ) as [string, string, string]
  if (at < 2 && random.chance(0.5)) return genuine.key.sealSegments(header, payload)
  return `${header}.${payload}.${signature}`
}

/** Returns JSON whose length leaves unused bits in the last character. */
function unaligned(segment: string): string {
  return segment.length % 4 === 0 ? toSegment(` ${Buffer.from(segment, 'base64url')}`) : segment
}

/** Spells the same bytes differently: the last character has bits beyond the last byte. */
function withTrailingBits(segment: string): string {
  return segment.slice(0, -1) + ALPHABET[ALPHABET.indexOf(segment.at(-1) ?? '') + 1]
}

/** Inserts white space, never at the ends: a header field trims them, which leaves the valid token. */
function insert(segment: string, random: Random): string {
  const at = 1 + random.below(segment.length - 1)
  return segment.slice(0, at) + random.pick(STRANGE) + segment.slice(at)
}
