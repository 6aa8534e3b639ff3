import { type RawBuilder, sql } from 'kysely'
import * as z from 'zod'
import { id, toIso } from './plain-schemas.ts'

/** Which part of a list is asked for. */
export interface OrganizationPageInput {
  organizationId: string
  /** 1 to 100. @default 50 */
  limit?: number
  /** The `nextCursor` of the page before. */
  cursor?: string
}

/** Where a page ends: `<ISO 8601>_<id>`. */
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_(.{1,128})$/

/** There is such a moment, and PostgreSQL takes the id. */
function isCursor(text: string): boolean {
  const [, createdAt = ''] = CURSOR.exec(text) ?? []
  return !Number.isNaN(Date.parse(createdAt)) && !text.includes('\0')
}

/** Of a query, a number is a text. */
export const pageInput: z.ZodType<OrganizationPageInput> = z.strictObject({
  organizationId: id,
  limit: z.coerce.number<number>().int().min(1).max(100).exactOptional(),
  cursor: z.string().regex(CURSOR).refine(isCursor).exactOptional(),
})

/**
 * What comes after a page, the oldest first. The `createdAt` of its last row is that of the table, which may be finer than that of the
 * cursor; where the row is gone, the cursor's counts.
 */
export function isAfter(table: 'member' | 'invitation', cursor: string | undefined): RawBuilder<boolean> {
  const [, createdAt, id] = CURSOR.exec(cursor ?? '') ?? []
  if (createdAt === undefined) return sql<boolean>`true`
  const column = (name: string) => sql.ref(`${table}.${name}`)
  const last = sql`(select "last"."createdAt" from ${sql.table(table)} as "last" where "last"."id" = ${id})`
  return sql<boolean>`(${column('createdAt')}, ${column('id')}) > (coalesce(${last}, ${new Date(createdAt)}), ${id})`
}

interface PageRow {
  readonly id: string
  readonly createdAt: Date | string
}

/** The rows of a page, of which one more than asked for was read, and the cursor of the next: null on the last. */
export function toPage<Row extends PageRow>(
  rows: readonly Row[],
  limit: number,
): { page: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  return { page, nextCursor: hasMore ? `${toIso(last.createdAt)}_${last.id}` : null }
}
