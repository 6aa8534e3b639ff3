import type { Selectable } from 'kysely'
import * as z from 'zod'
import { type AuthKysely, toDate, type UserTable } from '../database/schema.ts'
import { AuthError } from '../errors.ts'
import type { UserResponse } from '../protocol.ts'
import { decodeColumns, type UserColumns } from './declared-columns.ts'

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
  return { ...toUserResponse(row), ...decodeColumns({ ...row }, columns) }
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
