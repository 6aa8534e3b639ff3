import type { Random } from '../../../core/test/hostile/random.ts'

/** All that a request and the database can say at one moment. Times of tokens are in seconds, all others in milliseconds. */
export interface State {
  readonly now: number
  /** Null is none. */
  readonly jwt: JwtFacts | null
  /** Cookies travel with their own origin; a bearer token comes from a foreign one, beside cookies that count for nothing. */
  readonly transport: 'cookie' | 'bearer'
  readonly cookies: (typeof COOKIES)[number]
  /** The row of the session that the visitor has; null is deleted. */
  readonly session: { readonly expiresAt: number | 'unreadable' } | null
  readonly ban: { readonly banned: boolean; readonly banExpires: number | 'unreadable' | null }
  readonly role: string
  /** Who may have what is asked for. */
  readonly need: 'user' | 'admin'
  readonly database: 'answers' | 'unreachable'
  /** A moment at which all was well in the database and the JWT had not expired: the visitor came then too. Null is never. */
  readonly before: number | null
}

/** What a JWT says, and what is wrong with it. */
export interface JwtFacts {
  readonly iat: number
  readonly exp: number
  readonly names: 'own session' | (typeof NAMES)[number]
  readonly flaw: Flaw | null
}

/** Which cookies lie there, besides the one with the JWT. */
const COOKIES = ['JWT alone', 'both', 'session of another tab', 'JWT twice', 'session twice'] as const

/** Whose session a JWT may name besides the visitor's own. */
const NAMES = ['other session of theirs', 'session of another', 'other user, own session'] as const

/** What makes a JWT none of ours. */
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

/** The first states differ, two of three, from one in which all is well by one thing, each in its turn; all others are wholly random. */
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

/** Every single thing that can be otherwise. */
const ONE_THING: readonly Differ[] = [
  () => ({}),
  () => ({ jwt: null }),
  ...FLAWS.map((flaw) => withJwt(() => ({ flaw }))),
  ...NAMES.map((names) => withJwt(() => ({ names }))),
  withJwt((second) => ({ exp: second + 1 })),
  // Both at the very moment and a little after it.
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

/** A state as random as the seed makes it, in which the last moment before and the first after every limit are frequent. */
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

/** Mostly in the middle of a second, else at its beginning. */
function someMoment(random: Random): number {
  const moment = START + random.below(40 * DAY)
  return random.chance(0.4) ? moment - (moment % 1000) : moment
}

function withBefore(state: State, cameBefore: boolean, random: Random): State {
  if (!cameBefore) return state
  const end = Math.min(state.now, (state.jwt?.exp ?? Number.POSITIVE_INFINITY) * 1000)
  return { ...state, before: end - 1 - random.below(LIFETIME_SECONDS * 1000) }
}

/** How all was before anything changed. */
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
    // The clock of the node that issued it may be ahead.
    iat: random.chance(0.05) ? second + 1 + random.below(60) : exp - LIFETIME_SECONDS,
    exp,
    names: pickOften(random, 'own session', NAMES),
    flaw: random.chance(0.2) ? random.pick(FLAWS) : null,
  }
}

/** Mostly ahead of now; else right at it, behind it, or no moment at all. */
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
