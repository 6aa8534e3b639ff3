import { type RawBuilder, sql } from 'kysely'
import * as z from 'zod'
import { toDate } from '../database/schema.ts'

/** Which part of a list is asked for. */
export interface PageInput {
  /** 1 to 100. @default 50 */
  limit?: number
  /** The `nextCursor` of the page before. */
  cursor?: string
}

/** The position of a page's last row: `<createdAt>_<id>`. */
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_(.{1,128})$/

/** The date exists, and PostgreSQL takes the id. */
function isCursor(text: string): boolean {
  const [, createdAt = ''] = CURSOR.exec(text) ?? []
  return !Number.isNaN(Date.parse(createdAt)) && !text.includes('\0')
}

interface PageFields {
  limit: z.ZodExactOptional<z.ZodCoercedNumber<number>>
  cursor: z.ZodExactOptional<z.ZodString>
}

/** The members of {@link PageInput}. In a query, a number is a text. */
export const pageFields: PageFields = {
  limit: z.coerce.number<number>().int().min(1).max(100).exactOptional(),
  cursor: z.string().regex(CURSOR).refine(isCursor).exactOptional(),
}

interface Position {
  readonly table: 'user' | 'audit' | 'member' | 'invitation'
  readonly order: 'asc' | 'desc'
  readonly cursor: string | undefined
}

/**
 * Selects the rows after a page. The `createdAt` of its last row is that of the table, which may be finer than that of the cursor. Where
 * the row is gone, rows of the same millisecond may be listed again rather than left out.
 */
export function isAfter({ table, order, cursor }: Position): RawBuilder<boolean> {
  const [, createdAt, id] = CURSOR.exec(cursor ?? '') ?? []
  if (createdAt === undefined) return sql<boolean>`true`
  const row = sql`(${sql.ref(`${table}.createdAt`)}, ${sql.ref(`${table}.id`)})`
  const last = sql`(select "last"."createdAt" from ${sql.table(table)} as "last" where "last"."id" = ${id})`
  const millisecond = Date.parse(createdAt)
  return order === 'asc'
    ? sql<boolean>`${row} > (coalesce(${last}, ${new Date(millisecond)}), ${id})`
    : sql<boolean>`${row} < (coalesce(${last}, ${new Date(millisecond + 1)}), ${id})`
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
  return { page, nextCursor: hasMore ? `${toDate(last.createdAt).toISOString()}_${last.id}` : null }
}
