import * as z from 'zod/mini'
import { type AnyDatabase, toSessionDatabase } from '../../database/database.ts'
import { type AuthKysely, toNullableDate } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import { userName } from '../../endpoints/user-record.ts'
import { commit } from '../../lifecycle/commit.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import { isBanned } from '../../session/session.ts'
import { insertUser } from '../insert-user.ts'
import { emailAddress } from '../internal.ts'
import { CREDENTIAL, usableAccounts } from '../usable-accounts.ts'
import { newPassword } from './password.ts'
import { emailPasswordError, hashNewPassword, type PasswordRules, wrongPassword } from './settings.ts'

export type PasswordAccount = {
  userId: string
  password: string | null
  isBanned: boolean
  emailVerified: boolean
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
    .select(['account.userId', 'account.password', 'user.banned', 'user.banExpires', 'user.emailVerified'])
    .executeTakeFirst()
  if (found === undefined) return null
  const { userId, password } = found
  const ban = { banned: Boolean(found.banned), banExpires: toNullableDate(found.banExpires) }
  return { userId, password, isBanned: isBanned(ban, now), emailVerified: Boolean(found.emailVerified) }
}

/**
 * Rejects a password that was changed or removed while it was verified. Call it in a change, which has locked
 * the user.
 * @throws EndpointError `INVALID_CREDENTIALS`
 */
export async function requirePassword(
  trx: AuthTransaction,
  { userId, password, now }: Pick<PasswordAccount, 'userId' | 'password'> & { now: Date },
): Promise<void> {
  const current = await findPasswordAccount(trx, { column: 'user.id', value: userId, now })
  if (current?.password !== password) throw wrongPassword()
}

export async function hasPassword(userId: string, db: AuthKysely): Promise<boolean> {
  const accounts = await usableAccounts(db, userId)
  return accounts.some(({ provider }) => provider === CREDENTIAL)
}

export async function setPassword(
  trx: AuthTransaction,
  { userId, password, now }: { userId: string; password: string; now: Date },
): Promise<void> {
  // Rows that were copied from another library may have another `accountId`.
  const replaced = trx.updateTable('account').set({ password, updatedAt: now })
  const ofUser = replaced.where('userId', '=', userId).where('providerId', '=', CREDENTIAL)
  if ((await ofUser.executeTakeFirstOrThrow()).numUpdatedRows > 0n) return
  const account = { userId, accountId: userId, providerId: CREDENTIAL, password, updatedAt: now }
  // Fails if another user's row has this `accountId`. Their password must not be replaced.
  await trx
    .insertInto('account')
    .values({ id: crypto.randomUUID(), ...account, createdAt: now })
    .execute()
}

/** Removes the password, so the user can't sign in until a reset sets another one. */
export async function removePassword(
  trx: AuthTransaction,
  { userId, now }: { userId: string; now: Date },
): Promise<void> {
  const accounts = trx.updateTable('account').set({ password: null, updatedAt: now })
  await accounts.where('userId', '=', userId).where('providerId', '=', CREDENTIAL).execute()
}

interface NewAccount extends Pick<NewPasswordAccount, 'actorId' | 'name' | 'email' | 'now'> {
  readonly passwordHash: string
  readonly role: string
}

export async function insertAccount(
  trx: AuthTransaction,
  record: RecordEvent,
  { passwordHash: password, ...user }: NewAccount,
): Promise<{ userId: string }> {
  const userId = await insertUser(trx, record, { ...user, emailVerified: false })
  if (userId === null) throw emailPasswordError('EMAIL_TAKEN')
  await setPassword(trx, { userId, password, now: user.now })
  return { userId }
}

export interface NewPasswordAccount extends PasswordRules {
  readonly name: string
  readonly email: string
  readonly password: string
  /** @default 'user' */
  readonly role?: string
  /** Who creates it, for the records. @default null: the user, or the app's code */
  readonly actorId?: string | null
  readonly now: Date
}

/**
 * Creates a user who signs in by email and password, such as the app's first admin. The rules of sign-up
 * apply: pass the `appName` and `checkPassword` that `emailPassword()` has.
 * @throws EndpointError `EMAIL_TAKEN`, `PASSWORD_TOO_COMMON`, what `checkPassword` throws, or
 * `INVALID_INPUT` with the invalid fields
 */
export async function createPasswordAccount(
  database: AnyDatabase,
  options: NewPasswordAccount,
): Promise<{ userId: string }> {
  const { role = 'user', actorId = null, now } = options
  const { data, error } = accountFields.safeParse(options)
  if (error !== undefined)
    throw reject('INVALID_INPUT', { fields: Object.keys(z.flattenError(error).fieldErrors), cause: error })
  const { password, ...user } = data
  const { onEvent } = toSessionDatabase(database)
  const chosenBy = { id: null, ...user }
  const passwordHash = await hashNewPassword(password, { user: chosenBy, rules: options, now, onEvent })
  return commit(database, (trx, record) =>
    insertAccount(trx, record, { ...user, passwordHash, role, actorId, now }),
  )
}

const accountFields = z.object({ name: userName, email: emailAddress, password: newPassword })
