import { type AddedLists, readColumns } from './added-columns.ts'
import type { SessionKey, StoredSession } from './session.ts'

/** A moment as ISO 8601 text, in milliseconds since 1970, or as a driver reads it. */
type Moment = string | number | Date | null

/** What Step 2 reads, in the order of the select lists. */
export type LookupValues = readonly [
  expiresAt: Moment,
  lastAuthenticatedAt: Moment,
  version: number | null,
  rotatedAt: Moment,
  issuer: string | null,
  name: string | null,
  email: string | null,
  role: string | null,
  banned: boolean | number | null,
  banExpires: Moment,
  /** Those that a definition adds to the session, then those that it adds to the user. */
  ...added: unknown[],
]

/** What Step 2 reads, by name. */
export interface LookupRow {
  readonly expiresAt: Moment
  readonly lastAuthenticatedAt: Moment
  readonly version: number | null
  readonly rotatedAt: Moment
  readonly issuer: string | null
  readonly name: string | null
  readonly email: string | null
  readonly role: string | null
  readonly banned: boolean | number | null
  readonly banExpires: Moment
}

/** The session of a row. */
export function toSession(
  key: SessionKey,
  row: LookupRow,
  { added, values: further }: { added: AddedLists | null; values: readonly unknown[] } = NONE_ADDED,
): StoredSession {
  const { expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer } = row
  const { name, email, role, banned, banExpires } = row
  const ofSession = [expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer] as const
  const ofUser = [name, email, role, banned, banExpires] as const
  return sessionOf(key, [...ofSession, ...ofUser, ...further], added)
}

const NONE_ADDED = { added: null, values: [] }

/** The session of a row that was read as an array, which is faster. */
export function sessionOf(
  key: SessionKey,
  values: LookupValues,
  added: AddedLists | null = null,
): StoredSession {
  const session = ownMembers(key, values)
  if (added === null) return session
  const further = values.slice(OWN_COLUMNS)
  const ofSession = readColumns(added.session, further)
  const ofUser = readColumns(added.user, further.slice(added.session.length))
  return { ...ofSession, ...session, user: { ...ofUser, ...session.user } }
}

/** How many values every session has. */
const OWN_COLUMNS = 10

function ownMembers({ sessionId, userId }: SessionKey, values: LookupValues): StoredSession {
  const [expiresAt, lastAuthenticatedAt, version, rotatedAt, issuer, name, email, role, banned, banExpires] =
    values
  // Fail closed: only `0`, `false`, and `null` mean "not banned".
  const isBanned = banned !== 0 && banned !== false && banned !== null
  return {
    id: sessionId,
    userId,
    expiresAt: toMoment(expiresAt),
    lastAuthenticatedAt:
      typeof lastAuthenticatedAt === 'string' ? lastAuthenticatedAt : toIso(lastAuthenticatedAt),
    version,
    rotatedAt: rotatedAt === null || typeof rotatedAt === 'string' ? rotatedAt : toIso(rotatedAt),
    issuer,
    user: {
      id: userId,
      name: name ?? '',
      email: email ?? '',
      role: role ?? 'user',
    },
    ban: isBanned ? { until: banExpires === null ? null : toMoment(banExpires) } : null,
  }
}

/** What is no moment becomes an invalid date, which counts as expired, or as a ban without end. */
function toMoment(value: Moment): Date {
  return new Date(value ?? Number.NaN)
}

/** A moment that nobody knows is long ago. */
function toIso(value: number | Date | null): string {
  const date = new Date(value ?? 0)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}
