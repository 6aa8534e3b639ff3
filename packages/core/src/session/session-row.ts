import { type AddedLists, addValues } from './added-columns.ts'
import { readDate } from './read-date.ts'
import type { SessionKey, SessionUser, StoredSession } from './session.ts'

/** A date as ISO 8601, as milliseconds since 1970, or as a driver reads it. */
type Moment = string | number | Date | null

/** The columns of each table that Step 2 reads, in the order of the select lists. */
export const SESSION_COLUMNS = [
  'expiresAt',
  'lastAuthenticatedAt',
  'version',
  'rotatedAt',
  'issuer',
  'amr',
  'acr',
] as const
export const USER_COLUMNS = ['name', 'email', 'role', 'banned', 'banExpires'] as const

/** A row as a driver reads it. */
export type Row = Readonly<Record<string, unknown>>

export type LookupValues = readonly [
  expiresAt: Moment,
  lastAuthenticatedAt: Moment,
  version: number | null,
  rotatedAt: Moment,
  issuer: string | null,
  amr: string | null,
  acr: string | null,
  name: string | null,
  email: string | null,
  role: string | null,
  banned: boolean | number | null,
  banExpires: Moment,
  /** The columns that a definition adds to the session, then those that it adds to the user. */
  ...added: unknown[],
]

const OWN_COLUMNS = SESSION_COLUMNS.length + USER_COLUMNS.length

/** Returns the session of two rows. Some drivers read integers as bigint. */
export function toSession(
  key: SessionKey,
  { user, session }: { readonly user: Row; readonly session: Row },
  added: AddedLists | null,
): StoredSession {
  const own = [...SESSION_COLUMNS.map((name) => session[name]), ...USER_COLUMNS.map((name) => user[name])]
  const ofSession = (added?.session ?? []).map(([name]) => session[name])
  const ofUser = (added?.user ?? []).map(([name]) => user[name])
  const values: readonly unknown[] = [...own, ...ofSession, ...ofUser].map((value) =>
    typeof value === 'bigint' ? Number(value) : value,
  )
  return sessionOf(key, values as LookupValues, added)
}

/** Returns the session of a row that was read as an array, which is faster. */
export function sessionOf(
  key: SessionKey,
  values: LookupValues,
  added: AddedLists | null = null,
): StoredSession {
  const session = ownMembers(key, values)
  if (added === null) return session
  addValues(session, added.session, { values, from: OWN_COLUMNS })
  addValues(session.user, added.user, { values, from: OWN_COLUMNS + added.session.length })
  return session
}

type Extensible<Members> = Members & Record<string, unknown>

function ownMembers(
  { sessionId, userId }: SessionKey,
  values: LookupValues,
): Extensible<Omit<StoredSession, 'user'>> & { readonly user: Extensible<SessionUser> } {
  const [expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer, amr, acr] = values
  const [, , , , , , , name, email, role, banned, banExpires] = values
  // Fail closed: only `0`, `false`, and `null` mean "not banned".
  const isBanned = banned !== 0 && banned !== false && banned !== null
  return {
    id: sessionId,
    userId,
    // An unreadable date means expired, or a ban without an end.
    expiresAt: readDate(expiresAt),
    lastAuthenticatedAt: toIso(lastAuthenticatedAt),
    version,
    rotatedAt: rotatedAt === null ? null : toIso(rotatedAt),
    issuer,
    amr,
    acr,
    user: { id: userId, name: name ?? '', email: email ?? '', role: role ?? 'user' },
    ban: isBanned ? { until: banExpires === null ? null : readDate(banExpires) } : null,
  }
}

/** A missing date becomes 1970, and an unreadable one an empty string: neither is fresh. */
export function toIso(value: Moment): string {
  if (value === null) return EPOCH
  if (typeof value === 'string' && value.endsWith('Z')) return value
  const date = readDate(value)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

const EPOCH = new Date(0).toISOString()
