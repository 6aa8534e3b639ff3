import { toSegment } from '../../support/forge-token.ts'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const STRANGE = [
  ...['=', '==', '+', '/', '+/', '%', '%20', '%3D', '%2E', '\\', '"', "'", ',', ':', '~', '*', '@', '$', '#'],
  ...[' ', '\t', '\n', '\r\n', '\u0000', '\u000b', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u00ff', 'é'],
  ...['\u200b', '\u2028', '\u2060', '\ufeff', '\uff21', '\u0430', '\ud800', '😀', '.', '..', 'A', '_'],
]

/** White space to JavaScript and not to HTTP (RFC 9110 section 5.6.3): no header field sheds it. */
const NOT_OWS = ['\u000b', '\u000c', '\u00a0', '\u2028', '\u3000', '\ufeff']

/** A segment that decodes to the same bytes, or is not base64url at all. */
const RESPELL: readonly ((segment: string, random: Random) => string)[] = [
  (segment) => `${segment}${'='.repeat((4 - (segment.length % 4)) % 4 || 1)}`,
  (segment) => `${segment}=`,
  (segment) => `${segment.replaceAll('-', '+').replaceAll('_', '/')}+`,
  (segment) => withTrailingBits(segment),
  (segment) => Buffer.from(segment, 'base64url').toString('hex').slice(0, 1_000),
  (segment) => encodeURIComponent(`${segment}=`),
  // One character more than groups of four can hold.
  (segment) => `${segment}${'A'.repeat((5 - (segment.length % 4)) % 4 || 4)}`,
  (segment, random) => insert(segment, random),
  (segment, random) => segment + random.pick(NOT_OWS),
]

/** A token in order spelled in another way. Also signed over the other spelling, so that nothing else is wrong with it. */
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

/** JSON whose length leaves bits over in the last character. */
function unaligned(segment: string): string {
  return segment.length % 4 === 0 ? toSegment(` ${Buffer.from(segment, 'base64url')}`) : segment
}

/** The same bytes, for the last character carries bits beyond the last byte. */
function withTrailingBits(segment: string): string {
  return segment.slice(0, -1) + ALPHABET[ALPHABET.indexOf(segment.at(-1) ?? '') + 1]
}

/** Never at the ends: there a header field sheds white space, and what is left is the token. */
function insert(segment: string, random: Random): string {
  const at = 1 + random.below(segment.length - 1)
  return segment.slice(0, at) + random.pick(STRANGE) + segment.slice(at)
}
