import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

/** Values that are invalid for every claim, as JSON text, because some of them have no JavaScript value. */
const NEVER = [
  ...['null', 'true', 'false', '{}', '[]', '[[]]', '[null]', '[""]', '{"0":"a"}', '""'],
  ...['-1', '0.5', '-0.5', '1e308', '1e999', '-1e999', '9007199254740993', '1e21', '-9007199254740993'],
]

/** An identifier is a string of 1 to 128 characters. */
const NO_ID = [...NEVER, '0', '1', '1700000000', '["a"]', '{"toString":"a"}', JSON.stringify('a'.repeat(129))]
/** An issuer or audience is one string, byte for byte. */
const NOT_US = [
  ...NO_ID,
  ...['http://localhost:3001', 'https://localhost:3000', 'http://localhost:3000/', 'HTTP://LOCALHOST:3000'],
  ...[
    'http://localhost:3000 ',
    'http://localhost:3000\u0000',
    'http://localhost',
    'localhost:3000',
    '*',
    'null',
  ],
  ...['http://localhost:3000.evil.example', 'http://localhost:3000@evil.example', 'https://id.example.com'],
].map((value, index) => (index < NO_ID.length ? value : JSON.stringify(value)))
/** A time is a whole number of seconds that a `Date` can represent. */
const NO_MOMENT = [
  ...NEVER,
  '"0"',
  '"1700000000"',
  '"2099-01-01T00:00:00Z"',
  '8640000000001',
  '["1700000000"]',
]

/** For each claim, the values that make a correctly signed token invalid. */
const HOSTILE: Readonly<Record<string, (target: Target) => readonly string[]>> = {
  iss: () => NOT_US,
  aud: ({ issuer }) => [
    ...NOT_US,
    ...[[issuer], [issuer, 'https://evil.example'], { 0: issuer }].map((value) => JSON.stringify(value)),
  ],
  sub: ({ live }) => [...NO_ID, ...live.map(({ sessionId }) => JSON.stringify(sessionId))],
  userId: ({ live }) => [...NO_ID, ...live.map(({ sessionId }) => JSON.stringify(sessionId))],
  sessionId: () => NO_ID,
  jti: () => NO_ID,
  version: () => [...NEVER, '0', '-1', '1.5', '"1"', '9007199254740992'],
  iat: () => NO_MOMENT,
  exp: ({ now }) => [...NO_MOMENT, '0', '-0', '1', ...secondsFrom(now, [0, -1, -60, -899, -1e6])],
  nbf: ({ now }) => [...NO_MOMENT, ...secondsFrom(now, [1, 60, 1e6])],
}

/** Signs a token with the real key whose claim is missing, invalid, or far too long. */
export function spoilClaims(random: Random, target: Target): string {
  const key = random.pick(target.ownKeys)
  const claims = new Map(
    Object.entries(target.claims(random.pick(target.live))).map(([name, value]) => [
      name,
      JSON.stringify(value),
    ]),
  )
  const name = random.pick(Object.keys(HOSTILE))
  if (name !== 'nbf' && random.chance(0.1)) claims.delete(name)
  else if (random.chance(0.05)) claims.set('filler', JSON.stringify('x'.repeat(2_600 + random.below(20_000))))
  else claims.set(name, random.pick(HOSTILE[name]?.(target) ?? NEVER))
  const payload = [...claims].map(([member, value]) => `${JSON.stringify(member)}:${value}`).join()
  return key.seal(target.header(key), `{${payload}}`)
}

function secondsFrom(now: Date, offsets: readonly number[]): string[] {
  return offsets.map((offset) => String(now.getTime() / 1000 + offset))
}
