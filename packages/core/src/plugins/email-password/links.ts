import type { AuthKysely } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../../database/session-database.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { findUser } from '../email-user.ts'
import type { LinkEmail } from './send-email.ts'
import { emailPasswordError } from './settings.ts'
import { type LinkPurpose, withOwnTables } from './tables.ts'

/** Valid links of a kind at once. An attacker's request must not invalidate the link that the owner opens. */
const MAX_LINKS = { 'verify-email': 2, 'change-email': 1, 'reset-password': 2 }

const LIFETIME_SECONDS = {
  'verify-email': 24 * 60 * 60,
  'change-email': 60 * 60,
  'reset-password': 60 * 60,
  'undo-email-change': 7 * 24 * 60 * 60,
}

/** Creates a link that can be used once, locks its user, and deletes the user's older links of this kind. */
export async function createLink(
  trx: AuthTransaction,
  { kind, to, user, now }: Pick<LinkEmail, 'kind' | 'to' | 'user'> & { now: Date },
): Promise<LinkEmail> {
  await lockUsers(trx, [user.id])
  await deleteOldLinks(trx, { userId: user.id, kind })
  const link = await insertLink(trx, { purpose: kind, userId: user.id, email: to, now })
  return { kind, to, user, ...link }
}

/** Inserts a link. Earlier undo links stay valid: the oldest is the first owner's. */
export async function insertLink(
  trx: AuthTransaction,
  { purpose, userId, email, now }: { purpose: LinkPurpose; userId: string; email: string; now: Date },
): Promise<{ token: string; expiresAt: Date }> {
  const token = createSecret()
  const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS[purpose] * 1000)
  const link = { id: await hashSecret(token), purpose, userId, email, expiresAt, createdAt: now }
  await withOwnTables(trx).insertInto('verification').values(link).execute()
  return { token, expiresAt }
}

/** Deletes the oldest links of a kind, to leave room for one more. */
export async function deleteOldLinks(
  trx: AuthTransaction,
  { userId, kind }: { userId: string; kind: LinkEmail['kind'] },
): Promise<void> {
  const db = withOwnTables(trx)
  const query = db.selectFrom('verification').select('id').where('userId', '=', userId)
  const sorted = query.where('purpose', '=', kind).orderBy('createdAt', 'desc')
  const newest = await sorted.limit(MAX_LINKS[kind] - 1).execute()
  const kept = newest.map(({ id }) => id)
  await db
    .deleteFrom('verification')
    .where(({ and }) => and({ userId, purpose: kind }))
    .$if(kept.length > 0, (older) => older.where('id', 'not in', kept))
    .execute()
}

/** `email` is the address that the link was sent to. */
export type Link = { id: string; kind: LinkPurpose; userId: string; email: string; createdAt: Date }

type LinkQuery = { token: string; kinds: readonly LinkPurpose[]; now: Date }

export async function findLink(db: AuthKysely, { token, kinds, now }: LinkQuery): Promise<Link> {
  const link = await withOwnTables(db)
    .selectFrom('verification')
    .select(['id', 'purpose as kind', 'userId', 'email', 'createdAt'])
    .where('id', '=', await hashSecret(token))
    .where('purpose', 'in', kinds)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  if (link === undefined) throw emailPasswordError('LINK_INVALID')
  return { ...link, createdAt: new Date(link.createdAt) }
}

/** Deletes a link and locks its user. @throws EndpointError `LINK_INVALID` */
export async function consumeLink(trx: AuthTransaction, query: LinkQuery): Promise<Link> {
  const { userId } = await findLink(trx, query)
  await lockUsers(trx, [userId])
  // Meanwhile it may have been used.
  const link = await findLink(trx, query)
  await withOwnTables(trx).deleteFrom('verification').where('id', '=', link.id).execute()
  return link
}

export async function deleteLinks(
  db: AuthKysely,
  { userId, kinds }: { userId: string; kinds: readonly LinkPurpose[] },
): Promise<void> {
  const links = withOwnTables(db).deleteFrom('verification')
  await links.where('userId', '=', userId).where('purpose', 'in', kinds).execute()
}

/** Deletes the links of a user, except older undo links: an earlier owner can still restore the account. */
export async function deleteLinksSince(trx: AuthTransaction, { userId, createdAt }: Link): Promise<void> {
  await withOwnTables(trx)
    .deleteFrom('verification')
    .where('userId', '=', userId)
    .where(({ eb, or }) => or([eb('purpose', '!=', 'undo-email-change'), eb('createdAt', '>=', createdAt)]))
    .execute()
}

/** Returns whether an address can still be restored to another user. Until then, no account can take it. */
export async function isReserved(
  db: AuthKysely,
  { email, userId, now }: { email: string; userId: string; now: Date },
): Promise<boolean> {
  const links = withOwnTables(db).selectFrom('verification').select('id').where('email', '=', email)
  const ofOthers = links.where('purpose', '=', 'undo-email-change').where('userId', '!=', userId)
  const link = await ofOthers.where('expiresAt', '>', now).limit(1).executeTakeFirst()
  return link !== undefined
}

/** Rejects a new user, of any plugin, whose address is reserved. @throws EndpointError `EMAIL_TAKEN` */
export async function rejectReserved(
  trx: AuthTransaction,
  { userId, now }: { userId: string; now: Date },
): Promise<void> {
  const user = await findUser(trx, { id: userId })
  if (user !== undefined && (await isReserved(trx, { email: user.email, userId, now })))
    throw emailPasswordError('EMAIL_TAKEN')
}
