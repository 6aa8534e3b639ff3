import { deflateRawSync, gzipSync } from 'node:zlib'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

const MEMBERS = ['iss', 'aud', 'sub', 'iat', 'exp', 'jti', 'sessionId', 'userId', 'version']

/** Changes a valid payload or header into hostile JSON. */
const SPOIL: readonly ((json: string, random: Random) => string | Uint8Array)[] = [
  // Nested as deeply as a token can hold, as a whole and as the value of a required member.
  (_json, random) => '['.repeat(1 + random.below(2_600)),
  (_json, random) => nest('[', ']', 1 + random.below(1_300)),
  (_json, random) => nest('{"a":', '}', 1 + random.below(440), '1'),
  (json, random) => replaceMember(json, random, nest('[', ']', 1 + random.below(1_000))),
  (json, random) => replaceMember(json, random, nest('{"__proto__":', '}', 1 + random.below(120), '1')),
  // Names with a meaning for JavaScript objects.
  (json) => `{"__proto__":${json}}`,
  (json) => `{"constructor":{"prototype":${json}}}`,
  (json) => `{"__proto__":${json},"constructor":${json},"prototype":${json}}`,
  (json, random) => renameMember(json, random, '__proto__'),
  (json, random) => renameMember(json, random, 'constructor'),
  (json, random) => renameMember(json, random, 'hasOwnProperty'),
  (json, random) => replaceMember(json, random, '{"__proto__":{"polluted":true},"toString":1,"valueOf":1}'),
  // Of two members with one name, the invalid one is the one that `JSON.parse` uses.
  (json, random) => `${json.slice(0, -1)},"${random.pick(MEMBERS)}":{}}`,
  (json, random) => `${json.slice(0, -1)},"${inEscapes(random.pick(MEMBERS))}":null}`,
  (json, random) => `${json.slice(0, -1)},"alg":"none","kid":0,"typ":[],"${random.pick(MEMBERS)}":0.5}`,
  // Numbers that no double can represent.
  (json, random) => replaceMember(json, random, '9'.repeat(1 + random.below(1_000)).padStart(400, '9')),
  (json, random) => replaceMember(json, random, `1e${'9'.repeat(1 + random.below(1_000)).padStart(4, '9')}`),
  (json, random) => replaceMember(json, random, `0.${'0'.repeat(random.below(300))}1`),
  // Misleading text: lone surrogates, invalid UTF-8, other encodings, byte order marks.
  (json, random) => insertBytes(json, random, [0xed, 0xa0, 0x80]),
  (json, random) => insertBytes(json, random, [0xed, 0xbf, 0xbf]),
  (json, random) =>
    insertBytes(
      json,
      random,
      random.pick([[0xff], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x80], [0xe2, 0x82]]),
    ),
  (json, random) => replaceMember(json, random, `["${'\\ud800'.repeat(1 + random.below(200))}"]`),
  (json) => `\ufeff${json}`,
  (json) => Buffer.from(json, 'utf16le'),
  (json) => Buffer.from(`\ufeff${json}`, 'utf16le'),
  // Nearly JSON, and JSON that isn't an object.
  (json) => `${json}${json}`,
  (json) => `${json}\u0000`,
  (json) => `/**/${json}`,
  (json) => `${json.slice(0, -1)},}`,
  (json) => json.replaceAll('"', "'"),
  (json) => json.replaceAll('"', ''),
  (json) => `[${json}]`,
  (json) => JSON.stringify(json),
  (json, random) =>
    replaceMember(json, random, random.pick(['NaN', 'Infinity', 'undefined', '0x10', '01', '+1', '.5'])),
  (json, random) => insertBytes(json, random, [random.below(0x20)]),
  (_json, random) => random.pick(['null', 'true', '0', '""', '[]', '{}', ' ', '{', '"', '\\', 'undefined']),
  // Values that a parser would have to unwrap first.
  (json) => gzipSync(json),
  (json) => deflateRawSync(json),
]

/** A header may not repeat a name, even if the last value is valid (RFC 7515 section 4). */
const SPOIL_HEADER: typeof SPOIL = [
  ...SPOIL,
  (json) => `{"alg":"none",${json.slice(1)}`,
  (json) => `{"kid":"",${json.slice(1)}`,
  (json) => `{"typ":["at+jwt"],${json.slice(1)}`,
  (json, random) => `{"${inEscapes(random.pick(['alg', 'kid', 'typ']))}":"",${json.slice(1)}`,
  (json) => `${json.slice(0, -1)},${json.slice(1)}`,
]

/** Signs hostile JSON with the real key, in the payload or in the header. */
export function signHostileJson(random: Random, target: Target): string {
  const key = random.pick(target.ownKeys)
  const header = JSON.stringify(target.header(key))
  const claims = JSON.stringify(target.claims(random.pick(target.live)))
  if (random.chance(0.75)) return key.seal(header, random.pick(SPOIL)(claims, random))
  return key.seal(random.pick(SPOIL_HEADER)(header, random), claims)
}

function nest(open: string, close: string, depth: number, innermost = ''): string {
  return open.repeat(depth) + innermost + close.repeat(depth)
}

/** Each member name of this object, with its quotes and its value. */
const MEMBER = /"(\w+)":("[^"]*"|\d+)/g

function replaceMember(json: string, random: Random, value: string): string {
  const [member = '', name] = random.pick([...json.matchAll(MEMBER)])
  return json.replace(member, () => `"${name}":${value}`)
}

function renameMember(json: string, random: Random, name: string): string {
  const [member = '', , value] = random.pick([...json.matchAll(MEMBER)])
  return json.replace(member, () => `"${name}":${value}`)
}

/** Inserts bytes into a string, where JSON allows almost anything. */
function insertBytes(json: string, random: Random, bytes: readonly number[]): Buffer {
  const [member = ''] = random.pick([...json.matchAll(/"\w+":"/g)])
  const at = json.indexOf(member) + member.length
  return Buffer.concat([Buffer.from(json.slice(0, at)), Buffer.from(bytes), Buffer.from(json.slice(at))])
}

/** Returns the same name in escapes. */
function inEscapes(name: string): string {
  return name.replace(/./, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
}
