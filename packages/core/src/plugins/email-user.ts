import type { SelectQueryBuilder } from 'kysely'
import type { AuthKysely, AuthTables } from '../database/schema/kysely-tables.ts'
import type { EndpointContext } from '../endpoints/endpoint.ts'
import type { RateLimit } from '../rate-limit/rate-limit.ts'

/** The user whom an email is about. */
export interface EmailUser {
  readonly id: string
  readonly name: string
  readonly email: string
}

type UserKey = { id: string } | { email: string }

export function selectUser(db: AuthKysely, by: UserKey): SelectQueryBuilder<AuthTables, 'user', EmailUser> {
  const users = db.selectFrom('user').select(['id', 'name', 'email'])
  return users.where(({ and }) => and(by))
}

export function findUser(db: AuthKysely, by: UserKey): Promise<EmailUser | undefined> {
  return selectUser(db, by).executeTakeFirst()
}

/** Sends no email to the address of an anonymous user, which has no mailbox (RFC 2606 section 2). */
export function toMailboxes<Email extends { readonly to: string }>(
  sendEmail: (email: Email) => Promise<unknown>,
): (email: Email) => Promise<unknown> {
  return async (email) => {
    if (hasMailbox(email.to)) await sendEmail(email)
  }
}

function hasMailbox(address: string): boolean {
  return !address.endsWith('.invalid')
}

/**
 * Emails of one kind to one user. A program that signs in repeatedly must not fill the mailbox, nor an
 * attacker who has registered the address of another person.
 */
const NOTICES: RateLimit = { points: 10, duration: 60 * 60 }

interface Notice {
  readonly kind: string
  readonly userId: string
}

/** Emails a user, after the response. Over the limit, it sends none. */
export function emailUser(
  { kind, userId }: Notice,
  { later, database }: Pick<EndpointContext, 'later' | 'database'>,
  send: (user: EmailUser) => Promise<unknown>,
): void {
  later(async () => {
    const user = await findUser(database.db, { id: userId })
    if (user === undefined || !hasMailbox(user.email)) return
    if ((await database.limits.consume(`notice:${kind}:${userId}`, NOTICES)) === null) await send(user)
  })
}

interface Sending<Fields> {
  readonly userId: string
  readonly context: EndpointContext
  readonly settings: {
    readonly sendEmail?: ((email: Fields & { to: string; user: EmailUser }) => Promise<unknown>) | undefined
  }
}

/** Emails a user about a change of their account, after the response, if the app sends such emails. */
export function sendNotice<const Fields extends Pick<Notice, 'kind'>>(
  fields: Fields,
  { userId, context, settings: { sendEmail } }: Sending<NoInfer<Fields>>,
): void {
  if (sendEmail === undefined) return
  emailUser({ ...fields, userId }, context, (user) => sendEmail({ ...fields, to: user.email, user }))
}
