import type { Selectable } from 'kysely'
import * as z from 'zod'
import { type AuthKysely, toDate, type UserTable } from '../database/schema.ts'
import { AuthError } from '../errors.ts'
import type { UserResponse } from '../protocol.ts'

/** A column of the table `user` that a plugin adds. Its migration creates it. */
export interface UserColumn<Value = unknown> {
  /** What the migration made it: `flag` and `timestamp` are those of its dialect. A moment is answered as ISO 8601. @default 'text' */
  readonly type?: 'text' | 'number' | 'flag' | 'timestamp'
  /** What `GET /session` answers for what the column holds, and what may be written to it. */
  readonly schema: z.ZodType<Value>
  /** Whether users may set it themselves by `POST /update-user`. @default false */
  readonly input?: boolean
}

/** Columns by name. */
export type UserColumns = Readonly<Record<string, UserColumn>>

/** The columns of `user` that are ours: no plugin may claim them. */
export const OWN_USER_COLUMNS: readonly (keyof UserTable)[] = [
  'id',
  'name',
  'email',
  'emailVerified',
  'image',
  'role',
  'banned',
  'banReason',
  'banExpires',
  'createdAt',
  'updatedAt',
]

/** The members of every {@link UserResponse}. */
export const userFields: { readonly [Name in keyof UserResponse]: z.ZodType<UserResponse[Name]> } = {
  id: z.string(),
  name: z.string(),
  email: z.string(),
  emailVerified: z.boolean(),
  image: z.string().nullable(),
  role: z.string(),
  createdAt: z.string(),
}

/** The name of a person, as it may be chosen: without line breaks and the like, since it is written into emails. */
export const userName: z.ZodType<string> = z
  .string()
  .trim()
  .min(1)
  .max(128)
  .regex(/^\P{Cc}*$/u)

/**
 * A user with the columns that plugins add.
 *
 * @throws AuthError `SESSION_NOT_FOUND` when there is none any more: their sessions went with them
 */
export async function readUser(
  userId: string,
  { db, columns }: { db: AuthKysely; columns: UserColumns },
): Promise<UserResponse> {
  const row = await db.selectFrom('user').selectAll().where('id', '=', userId).executeTakeFirst()
  if (row === undefined) throw new AuthError('SESSION_NOT_FOUND')
  const values: Readonly<Record<string, unknown>> = row
  const added = Object.entries(columns).map(([name, column]) => [name, decode(values[name], column)])
  return { ...toUserResponse(row), ...Object.fromEntries(added) }
}

/** What columns are to be given, as the database takes it. */
export function encodeColumns(values: object, columns: UserColumns): Record<string, unknown> {
  const entries = Object.entries(values).map(([name, value]) => [name, encode(value, columns[name])])
  return Object.fromEntries(entries)
}

function encode(value: unknown, column: UserColumn | undefined): unknown {
  return column?.type === 'timestamp' && typeof value === 'string' ? new Date(value) : value
}

function decode(value: unknown, { type }: UserColumn): unknown {
  if (value === null) return null
  if (type === 'flag') return Boolean(value)
  const isMoment = type === 'timestamp' && (typeof value === 'string' || value instanceof Date)
  return isMoment ? toDate(value).toISOString() : value
}

/** What is told of the row of a user. */
export function toUserResponse(row: Selectable<UserTable>): UserResponse {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    emailVerified: Boolean(row.emailVerified),
    image: row.image,
    role: row.role,
    createdAt: toDate(row.createdAt).toISOString(),
  }
}
