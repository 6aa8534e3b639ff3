import type { AuthKysely } from '../../database/schema.ts'
import type { AuthTransaction } from '../../events/change.ts'
import { lockUsers } from '../../session/lock-user.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { refuseEmailPassword } from './reasons.ts'
import { type EmailPasswordKysely, withOwnTables } from './tables.ts'

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
  readonly kind: 'password-changed' | 'email-changed'
  readonly to: string
  readonly user: EmailUser
}

/** Sends an email, in the words and the language of the app. */
export type SendEmail = (email: LinkEmail | NoticeEmail) => Promise<void>

const LIFETIME_SECONDS = { 'verify-email': 24 * 60 * 60, 'change-email': 60 * 60, 'reset-password': 60 * 60 }

/** @throws EndpointError `EMAIL_UNAVAILABLE` */
export function requireEmail(sendEmail: SendEmail | undefined): SendEmail {
  if (sendEmail === undefined) throw refuseEmailPassword('EMAIL_UNAVAILABLE')
  return sendEmail
}

/**
 * Makes a link that can be used once. The one before it, for the same purpose, no longer can. Locks its user, as does whatever uses it: of
 * two links that are asked for at once, one remains.
 */
export async function createLink(
  trx: AuthTransaction,
  { kind, to, user, now }: Pick<LinkEmail, 'kind' | 'to' | 'user'> & { now: Date },
): Promise<LinkEmail> {
  const token = await createSecret()
  const id = await hashSecret(token)
  const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS[kind] * 1000)
  await lockUsers(trx, [user.id])
  await forgetLinks(withOwnTables(trx), { userId: user.id, kinds: [kind] })
  await withOwnTables(trx)
    .insertInto('verification')
    .values({ id, purpose: kind, userId: user.id, email: to, expiresAt, createdAt: now })
    .execute()
  return { kind, to, token, expiresAt, user }
}

/** A link that is still good. */
export interface Link {
  readonly kind: LinkEmail['kind']
  readonly userId: string
  /** The address that it was sent to. */
  readonly email: string
}

/** What a link is asked for by. */
interface LinkQuery {
  readonly token: string
  readonly kinds: readonly LinkEmail['kind'][]
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
    .select(['purpose', 'userId', 'email'])
    .where('id', '=', await hashSecret(token))
    .where('purpose', 'in', kinds)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  if (link === undefined) throw refuseEmailPassword('LINK_INVALID')
  return { kind: link.purpose, userId: link.userId, email: link.email }
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
  { userId, kinds }: { userId: string; kinds: readonly LinkEmail['kind'][] },
): Promise<void> {
  await db.deleteFrom('verification').where('userId', '=', userId).where('purpose', 'in', kinds).execute()
}
