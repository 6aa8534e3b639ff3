import type { Random } from '../../../core/test/hostile/random.ts'

/**
 * Everything about a request and the database at one moment. Token times are in seconds, others in
 * milliseconds.
 */
export interface State {
  readonly now: number
  /** Null without a JWT. */
  readonly jwt: JwtFacts | null
  /**
   * Cookies come with their own origin. A bearer token comes from a foreign one, with cookies that are
   * ignored.
   */
  readonly transport: 'cookie' | 'bearer'
  readonly cookies: (typeof COOKIES)[number]
  /** The row of the visitor's session, or null if it was deleted. */
  readonly session: { readonly expiresAt: number | 'unreadable' } | null
  readonly ban: { readonly banned: boolean; readonly banExpires: number | 'unreadable' | null }
  readonly role: string
  /** The role that the request requires. */
  readonly need: 'user' | 'admin'
  readonly database: 'answers' | 'unreachable'
  /** An earlier moment at which everything was valid and the visitor connected, or null. */
  readonly before: number | null
}

/** A JWT's claims, and its flaw. */
export interface JwtFacts {
  readonly iat: number
  readonly exp: number
  readonly names: 'own session' | (typeof NAMES)[number]
  readonly flaw: Flaw | null
}

/** Which cookies exist in addition to the one with the JWT. */
const COOKIES = ['JWT alone', 'both', 'session of another tab', 'JWT twice', 'session twice'] as const

/** The other sessions that a JWT may name. */
const NAMES = ['other session of theirs', 'session of another', 'other user, own session'] as const

/** The flaws that make a JWT invalid. */
const FLAWS = [
  'changed after signing',
  'signed by a stranger under our key id',
  'signed by a stranger under theirs',
  'signed by nobody',
  'signed with our public key as a secret',
  'signed by a key of another algorithm',
  'signed by a service',
  'signed by a key that has retired',
  'signed by a key that has leaked',
  'key retires',
  'key leaks',
  'type of a service',
  'no type',
  'for another audience',
  'for two audiences',
  'by another issuer',
  'not yet',
  'no session',
  'another subject',
  'no key id',
  'brings its own key',
  'a dot more',
  'padded',
  'too long',
] as const
export type Flaw = (typeof FLAWS)[number]

const START = Date.UTC(2026, 10, 21, 10)
const DAY = 86_400_000
const LIFETIME_SECONDS = 900

/**
 * Creates a state. Two thirds of the first states differ from a valid one in a single aspect each. All others
 * are random.
 */
export function createState(number: number, random: Random): State {
  const turn = Math.floor(number / 3) * 2 + (number % 3)
  const differ = number % 3 === 2 ? undefined : ONE_THING[turn]
  if (differ === undefined) return randomState(random)
  const well = wellState(random)
  return withBefore({ ...well, ...differ(well, random) }, random.chance(0.6), random)
}

type Differ = (state: State, random: Random) => Partial<State>

const withJwt =
  (change: (second: number) => Partial<JwtFacts>): Differ =>
  ({ jwt, now }) => ({ jwt: jwt && { ...jwt, ...change(Math.floor(now / 1000)) } })
const withBan = (banExpires: (now: number) => State['ban']['banExpires'], banned = true): Differ => {
  return ({ now }) => ({ ban: { banned, banExpires: banExpires(now) } })
}

/** Every single difference. */
const ONE_THING: readonly Differ[] = [
  () => ({}),
  () => ({ jwt: null }),
  ...FLAWS.map((flaw) => withJwt(() => ({ flaw }))),
  ...NAMES.map((names) => withJwt(() => ({ names }))),
  withJwt((second) => ({ exp: second + 1 })),
  // Exactly at the end, and a little later.
  withJwt((second) => ({ exp: second })),
  ({ now, jwt }) => ({ now: now - (now % 1000), jwt: jwt && { ...jwt, exp: Math.floor(now / 1000) } }),
  withJwt((second) => ({ exp: second - 600 })),
  ...COOKIES.map(
    (cookies): Differ =>
      () => ({ cookies, transport: 'cookie' }),
  ),
  ...COOKIES.map(
    (cookies): Differ =>
      () => ({ cookies, transport: 'bearer' }),
  ),
  () => ({ session: null }),
  () => ({ session: { expiresAt: 'unreadable' } }),
  ...[-1, 0, 1].map(
    (after): Differ =>
      ({ now }) => ({ session: { expiresAt: now + after } }),
  ),
  withBan(() => null),
  withBan(() => 'unreadable'),
  ...[-1, 0, 1].map((after) => withBan((now) => now + after)),
  withBan((now) => now + DAY, false),
  () => ({ need: 'admin', role: 'admin' }),
  () => ({ need: 'admin', role: 'user' }),
  () => ({ need: 'admin', role: 'Admin' }),
  () => ({ database: 'unreachable' }),
]

function wellState(random: Random): State {
  const now = someMoment(random)
  const exp = Math.floor(now / 1000) + 2 + random.below(LIFETIME_SECONDS - 2)
  return {
    now,
    jwt: { iat: exp - LIFETIME_SECONDS, exp, names: 'own session', flaw: null },
    transport: random.pick(['cookie', 'bearer'] as const),
    cookies: 'both',
    session: { expiresAt: now + 1 + random.below(30 * DAY) },
    ban: { banned: false, banExpires: null },
    role: 'user',
    need: 'user',
    database: 'answers',
    before: null,
  }
}

/** Creates a random state. The last moment before and the first after every limit are frequent. */
function randomState(random: Random): State {
  const now = someMoment(random)
  const state: State = {
    now,
    jwt: random.chance(0.05) ? null : randomJwt(now, random),
    transport: random.chance(0.3) ? 'bearer' : 'cookie',
    cookies: pickOften(random, 'both', COOKIES),
    session: random.chance(0.1) ? null : { expiresAt: momentAround(now, random, { soon: 30 * DAY }) },
    ban: {
      banned: random.chance(0.35),
      banExpires: random.chance(0.4) ? null : momentAround(now, random, { soon: 10 * DAY, evenly: true }),
    },
    role: pickOften(random, 'user', ['admin', 'admin', 'editor', '', 'Admin']),
    need: random.chance(0.35) ? 'admin' : 'user',
    database: random.chance(0.04) ? 'unreachable' : 'answers',
    before: null,
  }
  return withBefore(state, random.chance(0.4), random)
}

/** Returns a random moment: usually within a second, sometimes at its start. */
function someMoment(random: Random): number {
  const moment = START + random.below(40 * DAY)
  return random.chance(0.4) ? moment - (moment % 1000) : moment
}

function withBefore(state: State, cameBefore: boolean, random: Random): State {
  if (!cameBefore) return state
  const end = Math.min(state.now, (state.jwt?.exp ?? Number.POSITIVE_INFINITY) * 1000)
  return { ...state, before: end - 1 - random.below(LIFETIME_SECONDS * 1000) }
}

/** Returns the state from before any change. */
export function stateBefore(state: State, before: number): State {
  return {
    ...state,
    now: before,
    session: { expiresAt: before + DAY },
    ban: { banned: false, banExpires: null },
    database: 'answers',
    before: null,
    jwt:
      state.jwt !== null && (state.jwt.flaw === 'key retires' || state.jwt.flaw === 'key leaks')
        ? { ...state.jwt, flaw: null }
        : state.jwt,
  }
}

function randomJwt(now: number, random: Random): JwtFacts {
  const second = Math.floor(now / 1000)
  const exp =
    second +
    (random.chance(0.8)
      ? 1 + random.below(random.chance(0.2) ? 1 : LIFETIME_SECONDS)
      : -random.below(random.chance(0.5) ? 1 : 3600))
  return {
    // The issuing node's clock may be ahead.
    iat: random.chance(0.05) ? second + 1 + random.below(60) : exp - LIFETIME_SECONDS,
    exp,
    names: pickOften(random, 'own session', NAMES),
    flaw: random.chance(0.2) ? random.pick(FLAWS) : null,
  }
}

/** Returns a moment that is usually later than now, and otherwise now, earlier, or invalid. */
function momentAround(
  now: number,
  random: Random,
  { soon, evenly = false }: { soon: number; evenly?: boolean },
): number | 'unreadable' {
  const ahead = () => now + 1 + random.below(soon)
  if (!evenly && random.chance(0.6)) return ahead()
  const moment = random.below(6)
  if (moment === 0) return ahead()
  if (moment === 1) return now + 1
  if (moment === 2) return now
  if (moment === 3) return now - 1
  if (moment === 4) return now - 1 - random.below(soon)
  return 'unreadable'
}

function pickOften<Often, Other>(random: Random, often: Often, others: readonly Other[]): Often | Other {
  return random.chance(0.7) ? often : random.pick(others)
}
