import type { EndpointContext } from '../endpoints/endpoint.ts'

/** The user whom an email is about. */
export interface EmailUser {
  readonly id: string
  readonly name: string
  readonly email: string
}

/** Returns whether an address has a mailbox. That of an anonymous user doesn't (RFC 2606 section 2). */
export function hasMailbox(email: string): boolean {
  return !email.endsWith('.invalid')
}

/** Emails a user, after the response. */
export function emailUser(
  userId: string,
  { later, database: { db } }: Pick<EndpointContext, 'later' | 'database'>,
  send: (user: EmailUser) => Promise<void>,
): void {
  later(async () => {
    const query = db.selectFrom('user').select(['id', 'name', 'email']).where('id', '=', userId)
    const user = await query.executeTakeFirst()
    if (user !== undefined && hasMailbox(user.email)) await send(user)
  })
}
