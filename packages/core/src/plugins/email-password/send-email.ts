import type { AuthTransaction } from '../../database/auth-transaction.ts'
import { type AuthKysely, toDate } from '../../database/schema.ts'
import { lockUsers } from '../../lifecycle/lock-user.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { refuseEmailPassword } from './reasons.ts'
import { type EmailPasswordKysely, type LinkPurpose, withOwnTables } from './tables.ts'

/** Whom an email is about. */
export interface EmailUser {
  readonly id: string
  readonly name: string
  readonly email: string
}

/** An email that carries a link to a page of the app. */
export interface LinkEmail {
  /** What the page is to call: `verifyEmail` for the first two, `resetPassword` for the last. */
  readonly kind: 'verify-email' | 'change-email' | 'reset-password'
  readonly to: string
  /** For the link. Put it behind a `#`, which browsers send to no server: `https://app.example.com/reset#token=...` */
  readonly token: string
  readonly expiresAt: Date
  readonly user: EmailUser
}

/** An email that tells of a change, in case someone else made it. */
export interface NoticeEmail {
  readonly kind: 'password-changed'
  readonly to: string
  readonly user: EmailUser
}

/** Tells an address that the account has another one now. */
export type EmailChangedEmail = {
  readonly kind: 'email-changed'
  readonly to: string
  readonly user: EmailUser
} & (
  | {
      /** For a link to a page that calls `undoEmailChange`. Put it behind a `#`: see {@link LinkEmail}. */
      readonly token: string
      readonly expiresAt: Date
    }
  /** The change can't be undone: `undoEmailChange` is false, or this change itself undid one. */
  | { readonly token: null; readonly expiresAt: null }
)

/** Tells the user of a sign-in from a browser that the account doesn't know. */
export interface NewSignInEmail {
  readonly kind: 'new-sign-in'
  readonly to: string
  readonly user: EmailUser
  readonly at: Date
  /** The client's address; null where it is unknown. */
  readonly address: string | null
  /** Such as `Firefox on macOS`. It comes from the client, which can send any text: escape it. */
  readonly device: string | null
}

/** Any email that `emailPassword()` sends. */
export type Email = LinkEmail | NoticeEmail | EmailChangedEmail | NewSignInEmail

/** Sends an email, in the words and the language of the app. */
export type SendEmail = (email: Email) => Promise<void>

/**
 * How many links of a kind are valid at once. Those of an email change may go to different addresses: only
 * the last is meant.
 */
const MAX_LINKS = { 'verify-email': 2, 'change-email': 1, 'reset-password': 2 }

const LIFETIME_SECONDS = { 'verify-email': 24 * 60 * 60, 'change-email': 60 * 60, 'reset-password': 60 * 60 }

/** @throws EndpointError `EMAIL_UNAVAILABLE` */
export function requireEmail(sendEmail: SendEmail | undefined): SendEmail {
  if (sendEmail === undefined) throw refuseEmailPassword('EMAIL_UNAVAILABLE')
  return sendEmail
}

/**
 * Makes a link that can be used once. Older links for the same purpose become invalid, except the last one
 * for a reset or a verification: otherwise each request of a stranger would invalidate the link that the
 * owner is about to open. Locks its user, as does everything that uses a link.
 */
export async function createLink(
  trx: AuthTransaction,
  { kind, to, user, now }: Pick<LinkEmail, 'kind' | 'to' | 'user'> & { now: Date },
): Promise<LinkEmail> {
  const token = createSecret()
  const id = await hashSecret(token)
  const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS[kind] * 1000)
  await lockUsers(trx, [user.id])
  await forgetOldLinks(withOwnTables(trx), { userId: user.id, kind })
  await withOwnTables(trx)
    .insertInto('verification')
    .values({ id, purpose: kind, userId: user.id, email: to, expiresAt, createdAt: now })
    .execute()
  return { kind, to, token, expiresAt, user }
}

/** Makes the oldest links of a kind useless, to leave room for one more. */
export async function forgetOldLinks(
  db: EmailPasswordKysely,
  { userId, kind }: { userId: string; kind: LinkEmail['kind'] },
): Promise<void> {
  const newest = await db
    .selectFrom('verification')
    .select('id')
    .where('userId', '=', userId)
    .where('purpose', '=', kind)
    .orderBy('createdAt', 'desc')
    .limit(MAX_LINKS[kind] - 1)
    .execute()
  const kept = newest.map(({ id }) => id)
  await db
    .deleteFrom('verification')
    .where('userId', '=', userId)
    .where('purpose', '=', kind)
    .$if(kept.length > 0, (older) => older.where('id', 'not in', kept))
    .execute()
}

/** A link that is still good. */
export interface Link {
  readonly kind: LinkPurpose
  readonly userId: string
  /** The address that it was sent to. */
  readonly email: string
  readonly createdAt: Date
}

/** What a link is asked for by. */
interface LinkQuery {
  readonly token: string
  readonly kinds: readonly LinkPurpose[]
  readonly now: Date
}

/**
 * Looks at a link without using it up.
 *
 * @throws EndpointError `LINK_INVALID`
 */
export async function findLink(db: AuthKysely, { token, kinds, now }: LinkQuery): Promise<Link> {
  const link = await withOwnTables(db)
    .selectFrom('verification')
    .select(['purpose', 'userId', 'email', 'createdAt'])
    .where('id', '=', await hashSecret(token))
    .where('purpose', 'in', kinds)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  if (link === undefined) throw refuseEmailPassword('LINK_INVALID')
  const { purpose: kind, userId, email, createdAt } = link
  return { kind, userId, email, createdAt: toDate(createdAt) }
}

/**
 * Uses a link up. Its user is locked from then on.
 *
 * @throws EndpointError `LINK_INVALID`
 */
export async function takeLink(trx: AuthTransaction, query: LinkQuery): Promise<Link> {
  const { userId } = await findLink(trx, query)
  await lockUsers(trx, [userId])
  // Meanwhile someone else may have used it.
  const link = await findLink(trx, query)
  const id = await hashSecret(query.token)
  await withOwnTables(trx).deleteFrom('verification').where('id', '=', id).execute()
  return link
}

/** Makes links useless. */
export async function forgetLinks(
  db: EmailPasswordKysely,
  { userId, kinds }: { userId: string; kinds: readonly LinkPurpose[] },
): Promise<void> {
  await db.deleteFrom('verification').where('userId', '=', userId).where('purpose', 'in', kinds).execute()
}
