import type { Selectable } from 'kysely'
import * as z from 'zod'
import { type AuthKysely, toDate, type UserTable } from '../database/schema.ts'
import { AuthError } from '../protocol/errors.ts'
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

/**
 * The name of a person or an organization, as it may be chosen. It's written into pages and emails, so it
 * has no line breaks, nothing that hides or reorders characters, and nothing that mail programs turn into a
 * link.
 */
export const userName: z.ZodType<string> = z
  .string()
  .trim()
  .min(1)
  .max(128)
  .refine((name) => !HIDDEN.test(name) && !LINK.test(name) && !LINK_IN_CAPITALS.test(name))

/** Control and bidi characters, and those without a width. A variation selector may follow an emoji. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u2800[\p{Default_Ignorable_Code_Point}--[\uFE0E\uFE0F]]]|(?<!\p{Extended_Pictographic})[\uFE0E\uFE0F]/v

/** A scheme, `www.`, or a domain. `J.R.R. Tolkien` and `St.John` aren't domains. */
const LINK = /:\/\/|[\p{L}\p{N}][.。．｡][\p{Ll}\p{Lo}]{2}/u
const LINK_IN_CAPITALS =
  /\bwww\.|\.(?:app|biz|cc|click|cn|co|com|dev|info|io|link|live|me|net|online|org|ru|shop|site|top|xyz)(?![\p{L}\p{N}])/iu

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
