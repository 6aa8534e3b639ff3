import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { databaseFile } from '../../../src/cli/generate/database-file.ts'
import type { Column } from '../../../src/cli/generate/read-tables.ts'

const root = join(import.meta.dirname, '../../../../..')
const NONE = { user: {}, session: {} }
const column = (name: string, type: string, more: Partial<Column> = {}): Column => ({
  name,
  type,
  isNullable: false,
  hasDefault: false,
  ...more,
})

test('without additions it has what every app has', () => {
  expect(
    databaseFile(NONE, {}),
  ).toBe(`// Written by "sallyport generate": change the auth definition and run that again.
import type { AddedColumns, AuthTables as CoreTables } from '@sallyport/core/auth'

/** The columns that the auth definition adds: \`openSqlite(url, { columns: authColumns })\`. */
export const authColumns: AddedColumns = {
  user: {},
  session: {},
}

/** Our tables for Kysely, with the columns and tables that the auth definition adds. */
export type AuthTables = Pick<CoreTables, keyof CoreTables>
`)
})

test('added columns and tables', () => {
  const columns = {
    user: { locale: { type: 'text', default: "it's" }, credits: { type: 'number', default: 0.5 } },
    session: { isShared: { type: 'flag', default: false }, movedAt: { type: 'timestamp' } },
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
  user: {
    locale: { type: 'text', default: "it's" },
    credits: { type: 'number', default: 0.5 },
  },
  session: {
    isShared: { type: 'flag', default: false },
    movedAt: { type: 'timestamp' },
  },
}

/** Our tables for Kysely, with the columns and tables that the auth definition adds. */
export type AuthTables = Pick<CoreTables, keyof CoreTables> & {
  'a-b': {
    id: string
    'x y': string | null
  }
  user: {
    locale: Defaulted<string>
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
    expect(text).toContain(`\n    it: ${written}\n`)
    const [, imported = ''] = /^import type \{([^}]*)\}/m.exec(text) ?? []
    for (const name of ['Defaulted', 'Flag', 'NullableFlag', 'NullableTimestamp', 'Timestamp'])
      expect(new RegExp(`\\b${name}\\b`).test(imported)).toBe(new RegExp(`\\b${name}\\b`).test(written))
  })
})

test('whatever is added, it is formatted as our own code is, and names and texts stay what they are', () => {
  const long = 'a'.repeat(63)
  const lengths = [70, 71, 72, 88, 89, 90, 91, 92, 93, 200].map((length) => 'a'.repeat(length))
  const texts = [`it's`, 'say "no"', `both ' and "`, 'back\\slash', 'two\nlines', ...lengths]
  const user = Object.fromEntries(
    texts.map((value, place) => [`text${place}`, { type: 'text', default: value }] as const),
  )
  const columns = { user, session: { [long]: { type: 'timestamp' } } } as const
  const everyType = ['timestamp', 'flag'].flatMap((type) => [
    column(`${type}s`, type),
    column(`nullable ${type}`, type, { isNullable: true }),
    column(`"default"${type}`, type, { hasDefault: true }),
  ])
  const text = databaseFile(columns, {
    "it's": everyType,
    [long]: [column(long, 'text', { isNullable: true })],
  })
  const formatter = join(root, 'node_modules/@biomejs/biome/bin/biome')
  const args = [formatter, 'format', '--stdin-file-path=packages/core/src/database.ts']
  expect(execFileSync(process.execPath, args, { cwd: root, input: text, encoding: 'utf8' })).toBe(text)
  const [, literal = ''] = /AddedColumns = (\{.*?\n\})\n/s.exec(text) ?? []
  expect(runInNewContext(`(${literal})`)).toEqual(columns)
})
