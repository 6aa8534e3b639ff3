import { describe, expect, test } from 'vitest'
import { databaseFile } from '../../../src/cli/generate/database-file.ts'
import type { Column } from '../../../src/cli/generate/read-tables.ts'

const NONE = { user: {}, session: {} }
const column = (name: string, type: string, more: Partial<Column> = {}): Column => ({
  name,
  type,
  isNullable: false,
  hasDefault: false,
  ...more,
})

test('added columns and tables', () => {
  const columns = {
    user: { locale: { type: 'text', default: "it's" } },
    session: { movedAt: { type: 'timestamp' } },
  } as const
  const tables = {
    'a-b': [column('id', 'text'), column('x y', 'text', { isNullable: true })],
    user: [column('locale', 'text', { hasDefault: true })],
  }
  expect(
    databaseFile(columns, tables),
  ).toBe(`// Written by "sallyport generate": change the auth definition and run that again.
import type { AddedColumns, AuthTables as CoreTables, Defaulted } from '@sallyport/core/auth'

/** The columns that the auth definition adds: \`openSqlite(url, { columns: authColumns })\`. */
export const authColumns: AddedColumns = {
  "user": {
    "locale": {
      "type": "text",
      "default": "it's"
    }
  },
  "session": {
    "movedAt": {
      "type": "timestamp"
    }
  }
}

/** Our tables for Kysely, with the columns and tables that the auth definition adds. */
export type AuthTables = Pick<CoreTables, keyof CoreTables> & {
  "a-b": {
    "id": string
    "x y": string | null
  }
  "user": {
    "locale": Defaulted<string>
  }
}
`)
})

test('a name that is one of a type imports nothing', () => {
  const tables = { Timestamp: [column('Flag', 'text')] }
  expect(databaseFile(NONE, tables)).toContain('import type { AddedColumns, AuthTables as CoreTables } from')
})

describe('the type of a column', () => {
  test.each([
    ['text', {}, 'string'],
    ['text', { isNullable: true }, 'string | null'],
    ['text', { hasDefault: true }, 'Defaulted<string>'],
    ['text', { isNullable: true, hasDefault: true }, 'string | null'],
    ['varchar(20)', {}, 'string'],
    ['uuid', {}, 'string'],
    ['date', {}, 'string'],
    ['integer', {}, 'number'],
    ['double precision', {}, 'number'],
    ['numeric(10, 2)', { isNullable: true }, 'number | null'],
    ['real', {}, 'number'],
    ['bigint', {}, 'number | string'],
    ['timestamp', {}, 'Timestamp'],
    ['timestamp', { isNullable: true }, 'NullableTimestamp'],
    ['timestamp', { hasDefault: true }, 'Defaulted<Timestamp>'],
    ['flag', {}, 'Flag'],
    ['flag', { isNullable: true }, 'NullableFlag'],
    ['flag', { hasDefault: true }, 'Defaulted<Flag>'],
    ['boolean', {}, 'Flag'],
    ['blob', { isNullable: true }, 'Uint8Array | null'],
    ['jsonb', { isNullable: true }, 'unknown'],
    ['', {}, 'unknown'],
  ])('%j, %o: %s', (type, more, written) => {
    const text = databaseFile(NONE, { thing: [column('it', type, more)] })
    expect(text).toContain(`\n    "it": ${written}\n`)
    const [, imported = ''] = /^import type \{([^}]*)\}/m.exec(text) ?? []
    for (const name of ['Defaulted', 'Flag', 'NullableFlag', 'NullableTimestamp', 'Timestamp'])
      expect(new RegExp(`\\b${name}\\b`).test(imported)).toBe(new RegExp(`\\b${name}\\b`).test(written))
  })
})
