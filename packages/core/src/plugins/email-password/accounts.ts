import type * as z from 'zod'
import { type AnyDatabase, toSessionDatabase } from '../../database/database.ts'
import { type AuthKysely, toNullableDate } from '../../database/schema.ts'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { userName } from '../../endpoints/user-record.ts'
import { commit } from '../../lifecycle/commit.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import { isBanned } from '../../session/session.ts'
import { emailAddress } from '../internal.ts'
import { newPassword } from './password.ts'
import { emailPasswordError } from './reasons.ts'
import type { EmailUser } from './send-email.ts'
import { hashNewPassword, type PasswordRules } from './settings.ts'

/** The provider of email and password in the table `account`. */
const CREDENTIAL = 'credential'

export async function findUser(
  db: AuthKysely,
  by: { id: string } | { email: string },
): Promise<EmailUser | undefined> {
  return db
    .selectFrom('user')
    .select(['id', 'name', 'email'])
    .where(({ and }) => and(by))
    .executeTakeFirst()
}

/** An account with a password. */
export interface PasswordAccount {
  readonly userId: string
  readonly password: string | null
  readonly isBanned: boolean
}

export async function findPasswordAccount(
  db: AuthKysely,
  { column, value, now }: { column: 'user.email' | 'user.id'; value: string; now: Date },
): Promise<PasswordAccount | null> {
  const found = await db
    .selectFrom('user')
    .innerJoin('account', 'account.userId', 'user.id')
    .where(column, '=', value)
    .where('account.providerId', '=', CREDENTIAL)
    .select(['account.userId', 'account.password', 'user.banned', 'user.banExpires'])
    .executeTakeFirst()
  if (found === undefined) return null
  const ban = { banned: Boolean(found.banned), banExpires: toNullableDate(found.banExpires) }
  return { userId: found.userId, password: found.password, isBanned: isBanned(ban, now) }
}

/** Sets the password of a user, who may have none yet. */
export async function setPassword(
  trx: AuthTransaction,
  { userId, password, now }: { userId: string; password: string; now: Date },
): Promise<void> {
  const account = { userId, accountId: userId, providerId: CREDENTIAL, password, updatedAt: now }
  await trx
    .insertInto('account')
    .values({ id: crypto.randomUUID(), ...account, createdAt: now })
    .onConflict((conflict) =>
      conflict.columns(['providerId', 'accountId']).doUpdateSet({ password, updatedAt: now }),
    )
    .execute()
}

/** Removes the password of a user. Until a reset sets another, no password signs them in. */
export async function removePassword(
  trx: AuthTransaction,
  { userId, now }: { userId: string; now: Date },
): Promise<void> {
  await trx
    .updateTable('account')
    .set({ password: null, updatedAt: now })
    .where(({ and }) => and({ userId, providerId: CREDENTIAL }))
    .execute()
}

type NewAccount = { name: string; email: string; passwordHash: string; role: string; now: Date }

/** @throws EndpointError `EMAIL_TAKEN` */
export async function insertAccount(
  trx: AuthTransaction,
  record: RecordEvent,
  { passwordHash: password, now, ...user }: NewAccount,
): Promise<{ userId: string }> {
  const userId = crypto.randomUUID()
  const created = await trx
    .insertInto('user')
    .values({
      id: userId,
      ...user,
      emailVerified: false,
      image: null,
      banned: false,
      banReason: null,
      banExpires: null,
      createdAt: now,
      updatedAt: now,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (created === undefined) throw emailPasswordError('EMAIL_TAKEN')
  await setPassword(trx, { userId, password, now })
  record({ type: 'user.created', userId, actorId: null, at: now })
  return { userId }
}

/** Options of {@link createPasswordAccount}. */
export interface NewPasswordAccount extends PasswordRules {
  readonly name: string
  /** Stored trimmed and in lower case, as sign-in looks it up. */
  readonly email: string
  readonly password: string
  /** @default 'user' */
  readonly role?: string
  readonly now: Date
}

/**
 * Creates a user who signs in by email and password, such as the app's first admin. The rules of sign-up
 * apply: pass the `appName` and `checkPassword` that `emailPassword()` has.
 *
 * @throws EndpointError `EMAIL_TAKEN`, `PASSWORD_TOO_COMMON`, what `checkPassword` throws, or
 * `INVALID_INPUT` with the field at fault
 */
export async function createPasswordAccount(
  database: AnyDatabase,
  options: NewPasswordAccount,
): Promise<{ userId: string }> {
  const { role = 'user', now } = options
  const name = parseField('name', options.name, userName)
  const email = parseField('email', options.email, emailAddress)
  const password = parseField('password', options.password, newPassword)
  const { onEvent } = toSessionDatabase(database)
  const user = { id: null, name, email }
  const passwordHash = await hashNewPassword(password, { user, rules: options, now, onEvent })
  return commit(database, (trx, record) =>
    insertAccount(trx, record, { name, email, passwordHash, role, now }),
  )
}

function parseField(field: string, value: string, schema: z.ZodType<string>): string {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw reject('INVALID_INPUT', { fields: [field], cause: parsed.error })
  return parsed.data
}
