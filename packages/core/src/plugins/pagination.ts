import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import * as z from 'zod/mini'
import { readDate } from '../session/read-date.ts'

export interface PageInput {
  /** 1 to 100. @default 50 */
  limit?: number
  /** The `nextCursor` of the previous page. */
  cursor?: string
}

export interface PageOutput {
  /** Null on the last page. */
  nextCursor: string | null
}

/** The position of a page's last row: `<createdAt>_<id>`. */
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_(.{1,128})$/

/** Returns whether the date exists and PostgreSQL accepts the id. */
function isCursor(text: string): boolean {
  const [, createdAt = ''] = CURSOR.exec(text) ?? []
  return !Number.isNaN(Date.parse(createdAt)) && !text.includes('\0')
}

/** Parses a {@link PageInput}. A query string carries the number as text. */
export const pageFields: {
  limit: z.ZodMiniExactOptional<z.ZodMiniNumber<number>>
  cursor: z.ZodMiniExactOptional<z.ZodMiniString>
} = {
  limit: z.exactOptional(z.coerce.number<number>().check(z.int(), z.minimum(1), z.maximum(100))),
  cursor: z.exactOptional(z.string().check(z.regex(CURSOR), z.refine(isCursor))),
}

interface Page extends PageInput {
  readonly table: 'user' | 'sallyport.audit' | 'member' | 'invitation'
  readonly order: 'asc' | 'desc'
}

interface PageRow {
  readonly id: string
  readonly createdAt: Date | string
}

/** Reads one page of a query, sorted by time. `nextCursor` is null on the last page. */
export async function readPage<Tables, From extends keyof Tables, Row extends PageRow>(
  query: SelectQueryBuilder<Tables, From, Row>,
  { table, order, limit = 50, cursor = '' }: Page,
): Promise<{ page: Row[]; nextCursor: string | null }> {
  const rows: Row[] = await query
    .where(isAfter({ table, order, cursor }))
    .orderBy(sql.ref(`${table}.createdAt`), order)
    .orderBy(sql.ref(`${table}.id`), order)
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  return { page, nextCursor: hasMore ? `${toMoment(last.createdAt)}_${last.id}` : null }
}

/** The next page starts at the row itself, so the cursor of a date that can't be read may have any date. */
function toMoment(createdAt: Date | string): string {
  return new Date(readDate(createdAt).getTime() || 0).toISOString()
}

/**
 * Selects the rows after the cursor. Compares with the `createdAt` in the table, which may be finer than the
 * cursor's. If that row is gone, rows of the same millisecond are repeated rather than skipped.
 */
function isAfter({ table, order, cursor }: Required<Omit<Page, 'limit'>>): RawBuilder<boolean> {
  const [, createdAt, id] = CURSOR.exec(cursor) ?? []
  if (createdAt === undefined) return sql<boolean>`true`
  const row = sql`(${sql.ref(`${table}.createdAt`)}, ${sql.ref(`${table}.id`)})`
  // Inside, the names belong to this subquery's table.
  const at = sql.ref(`${table}.createdAt`)
  const last = sql`(select ${at} from ${sql.table(table)} where ${sql.ref(`${table}.id`)} = ${id})`
  const millisecond = Date.parse(createdAt)
  return order === 'asc'
    ? sql<boolean>`${row} > (coalesce(${last}, ${new Date(millisecond)}), ${id})`
    : sql<boolean>`${row} < (coalesce(${last}, ${new Date(millisecond + 1)}), ${id})`
}
