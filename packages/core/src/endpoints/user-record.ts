import ipaddr from 'ipaddr.js'
import type { Selectable } from 'kysely'
import * as z from 'zod/mini'
import type { AuthKysely, UserTable } from '../database/schema/kysely-tables.ts'
import { AuthError } from '../protocol/errors.ts'
import type { UserResponse } from '../protocol.ts'
import { toIso } from '../session/session-row.ts'
import { decodeColumns, type UserColumns } from './declared-columns.ts'

export const userFields: { readonly [Name in keyof UserResponse]: z.ZodMiniType<UserResponse[Name]> } = {
  id: z.string(),
  name: z.string(),
  email: z.string(),
  emailVerified: z.boolean(),
  image: z.nullable(z.string()),
  role: z.string(),
  createdAt: z.string(),
}

/**
 * The name of a person, an organization, or a passkey. Pages and emails contain it, so it has no line breaks,
 * no hidden or reordering characters, and nothing that mail programs turn into a link.
 */
export const userName: z.ZodMiniType<string> = z.string().check(
  z.trim(),
  z.minLength(1),
  z.maxLength(128),
  z.refine((name) => {
    const visible = name.replace(JOINER, '')
    return !HIDDEN.test(visible) && !LINK.test(visible) && !LINK_IN_CAPITALS.test(visible)
  }),
)

/** Control and bidi characters, and those without a width. A variation selector may follow an emoji. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u2800[\p{Default_Ignorable_Code_Point}--[\uFE0E\uFE0F]]]|(?<!\p{Extended_Pictographic})[\uFE0E\uFE0F]/v

/** Emojis, and the scripts that use joiners: many Persian and Sinhala names have one. */
const JOINED = String.raw`[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F\p{sc=Arab}\p{sc=Syrc}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}]`
const JOINER = new RegExp(String.raw`(?<=${JOINED})[\u200C\u200D](?=${JOINED})`, 'gv')

/** A scheme, `www.`, or a domain. `J.R.R. Tolkien` and `St.John` aren't domains. */
const LINK = /:\/\/|[\p{L}\p{N}][.。．｡][\p{Ll}\p{Lo}]{2}/u
const LINK_IN_CAPITALS =
  /\bwww\.|\.(?:app|biz|cc|click|cn|co|com|dev|info|io|link|live|me|net|online|org|ru|shop|site|top|xyz)(?![\p{L}\p{N}])/iu

/** The picture of a user. Pages load it, so a private address would make browsers send requests to it. */
export const userImage: z.ZodMiniType<string> = z.url({ protocol: /^https$/, normalize: true }).check(
  z.maxLength(2_048),
  z.refine((text) => {
    const url = URL.parse(text)
    return url !== null && url.username === '' && url.password === '' && isPublicHost(url.hostname)
  }),
)

/** Returns false for addresses of private networks and names that only such a network resolves. */
function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (ipaddr.isValid(host)) return ipaddr.parse(host).range() === 'unicast'
  return host.includes('.') && !PRIVATE_NAME.test(host)
}

const PRIVATE_NAME =
  /(?:^|\.)(?:corp|home|home\.arpa|internal|intranet|lan|local|localdomain|localhost|private)$/

/** @throws AuthError `SESSION_NOT_FOUND` if the user was deleted, with their sessions */
export async function readUser(
  userId: string,
  { db, columns }: { db: AuthKysely; columns: UserColumns },
): Promise<UserResponse> {
  const row = await db.selectFrom('user').selectAll().where('id', '=', userId).executeTakeFirst()
  if (row === undefined) throw new AuthError('SESSION_NOT_FOUND')
  return { ...toUserResponse(row), ...decodeColumns({ ...row }, columns) }
}

export function toUserResponse({ emailVerified, createdAt, ...row }: Selectable<UserTable>): UserResponse {
  const { id, name, email, image, role } = row
  const dates = { createdAt: toIso(createdAt) }
  return { id, name, email, emailVerified: Boolean(emailVerified), image, role, ...dates }
}
