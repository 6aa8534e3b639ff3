import { hash, verify } from '@node-rs/argon2'
import * as z from 'zod'
import { type AuthKysely, toNullableDate } from '../database/schema.ts'
import type { AuthPlugin } from '../definition.ts'
import { defineEndpoint, type Endpoint } from '../endpoints/endpoint.ts'
import { EndpointError } from '../endpoints/endpoint-error.ts'
import { beginSession } from '../endpoints/issue-tokens.ts'
import { AuthError } from '../errors.ts'
import { ENDPOINT_PATHS } from '../protocol.ts'
import { isBanned } from '../session/session.ts'

/** OWASP Password Storage Cheat Sheet: argon2id, which is the library's default, with 19 MiB, two passes, one lane. */
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

const email = z.string().max(320).trim().toLowerCase().pipe(z.email())
const newPassword = z.string().min(8).max(256)

/** Sign-up and sign-in by email and password. */
export function emailPassword(): AuthPlugin {
  // Verified where there is no account, so that an unknown email takes as long as a wrong password.
  const nobody = hash(crypto.randomUUID(), ARGON2)
  return { id: 'email-password', endpoints: [signUpEmail, signInEmail(nobody)] }
}

const signUpEmail = defineEndpoint({
  method: 'POST',
  path: ENDPOINT_PATHS.signUpEmail,
  origin: 'mutation',
  caller: 'anyone',
  input: z.strictObject({ name: z.string().trim().min(1).max(128), email, password: newPassword }),
  async run(input, context) {
    const { userId } = await createPasswordAccount(context.database.db, {
      ...input,
      now: context.config.now(),
    })
    return beginSession(userId, context)
  },
})

const signInEmail = (nobody: Promise<string>): Endpoint =>
  defineEndpoint({
    method: 'POST',
    path: ENDPOINT_PATHS.signInEmail,
    origin: 'mutation',
    caller: 'anyone',
    input: z.strictObject({ email, password: z.string().max(256) }),
    async run(input, context) {
      const account = await findAccount(context.database.db, input.email)
      const isProved = await verify(account?.password ?? (await nobody), input.password)
      if (account === undefined || !isProved) throw new EndpointError('INVALID_CREDENTIALS')
      const ban = { banned: Boolean(account.banned), banExpires: toNullableDate(account.banExpires) }
      if (isBanned(ban, context.config.now())) throw new AuthError('ACCOUNT_BANNED')
      return beginSession(account.userId, context)
    },
  })

function findAccount(db: AuthKysely, address: string) {
  return db
    .selectFrom('user')
    .innerJoin('account', 'account.userId', 'user.id')
    .where('user.email', '=', address)
    .where('account.providerId', '=', 'credential')
    .select(['account.userId', 'account.password', 'user.banned', 'user.banExpires'])
    .executeTakeFirst()
}

/**
 * Creates a user who signs in by email and password. For sign-up, and for an app that creates its first users itself.
 *
 * @param options.email stored trimmed and in lower case, as sign-in looks it up
 * @throws EndpointError `EMAIL_TAKEN`, or `INVALID_INPUT` when it is no email address
 */
export async function createPasswordAccount(
  db: AuthKysely,
  options: { name: string; email: string; password: string; role?: string; now: Date },
): Promise<{ userId: string }> {
  const { name, role = 'user', now } = options
  const address = email.safeParse(options.email)
  if (!address.success) throw new EndpointError('INVALID_INPUT', { fields: ['email'], cause: address.error })
  const password = await hash(options.password, ARGON2)
  const userId = crypto.randomUUID()
  await db.transaction().execute(async (trx) => {
    const created = await trx
      .insertInto('user')
      .values({
        id: userId,
        name,
        email: address.data,
        emailVerified: false,
        image: null,
        role,
        banned: false,
        banReason: null,
        banExpires: null,
        createdAt: now,
        updatedAt: now,
      })
      .onConflict((conflict) => conflict.column('email').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (created === undefined) throw new EndpointError('EMAIL_TAKEN')
    await trx
      .insertInto('account')
      .values({
        id: crypto.randomUUID(),
        userId,
        accountId: userId,
        providerId: 'credential',
        password,
        createdAt: now,
        updatedAt: now,
      })
      .execute()
  })
  return { userId }
}
