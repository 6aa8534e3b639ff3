import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test as sequential } from 'vitest'
import { hostSallyport } from '../../support/host-sallyport.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { writeApp } from '../../support/write-app.ts'

const test = sequential.concurrent
const directory = temporaryDirectory()
const host = hostSallyport()
afterAll(host.stop)

/** A definition with a column and a plugin table, without the packages that would sign users in. */
const DEFINITION = `export default { plugins: [
  { id: 'app', userColumns: { locale: { default: 'en' } } },
  { id: 'notes', migrations: { async '0001_note'(schema, { timestamp, flag, no }) {
    await schema.createTable('note')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('ownerId', 'text', (column) => column.notNull().references('user.id').onDelete('cascade'))
      .addColumn('isPublic', flag, (column) => column.notNull().defaultTo(no))
      .addColumn('readAt', timestamp)
      .execute()
    await schema.createIndex('note_ownerId').on('note').column('ownerId').execute()
  } } },
] }`

const app = (files: Readonly<Record<string, string>> = {}) =>
  writeApp(directory, { 'src/auth.ts': DEFINITION, ...files })
const generate = (cwd: string, args: string, env: Readonly<Record<string, string>> = {}) =>
  host.run(['generate', ...args.split(' ')], { cwd, env })
const read = (root: string, path: string) => readFileSync(join(root, path), 'utf8')

describe('sallyport generate --schema', () => {
  test.for([
    {
      schema: 'drizzle',
      dialect: 'sqlite',
      path: 'src/generated/auth-schema.ts',
      lines: [
        `export const note = sqliteTable('note', {`,
        `  ownerId: text('ownerId').notNull(),`,
        `  isPublic: integer('isPublic', { mode: 'boolean' }).notNull().default(false),`,
        `  readAt: text('readAt'),`,
        `  foreignKey({ name: 'note_ownerId_fkey', columns: [table.ownerId], foreignColumns: [user.id] }).onDelete('cascade'),`,
        `  index('note_ownerId').on(table.ownerId),`,
        `  locale: text('locale').notNull().default("en"),`,
        `export const sallyport_rate_limit = sqliteTable('sallyport_rate_limit', {`,
        `export const sallyport_notes_migration = sqliteTable('sallyport_notes_migration', {`,
      ],
    },
    {
      schema: 'drizzle',
      dialect: 'postgres',
      path: 'src/generated/auth-schema.ts',
      lines: [
        `  isPublic: boolean('isPublic').notNull().default(false),`,
        `  readAt: timestamp('readAt', { withTimezone: true, mode: 'date' }),`,
      ],
      absent: 'sallyport_',
    },
    {
      schema: 'sql',
      dialect: 'postgres',
      path: 'src/generated/auth-schema.sql',
      lines: [
        `  "ownerId" text not null references "user" ("id") on delete cascade,`,
        `  "isPublic" boolean default false not null,`,
        `create index "note_ownerId" on "note" ("ownerId");`,
        `create unique index "user_email_key" on "user" ("email");`,
      ],
      absent: 'sallyport_',
    },
    {
      schema: 'prisma',
      dialect: 'postgres',
      path: 'prisma/schema.prisma',
      lines: [
        `  provider = "postgresql"`,
        `model Note {`,
        `  owner    User      @relation(fields: [ownerId], references: [id], onDelete: Cascade, onUpdate: NoAction)`,
        `  readAt   DateTime? @db.Timestamptz(6)`,
        `  @@index([ownerId], map: "note_ownerId")`,
        `  notes         Note[]`,
      ],
      absent: 'sallyport_',
    },
    {
      schema: 'prisma',
      dialect: 'sqlite',
      path: 'prisma/schema.prisma',
      lines: [
        `  provider = "sqlite"`,
        `  @@map("sallyport_rate_limit")`,
        `  isPublic Boolean @default(false)`,
      ],
    },
  ])('$schema, $dialect', async ({ schema, dialect, path, lines, absent }, { expect }) => {
    const root = app()
    const args = `--schema ${schema} --dialect ${dialect}`
    expect(await generate(root, args)).toEqual({ code: 0, stdout: `wrote ${path}\n`, stderr: '' })
    const text = read(root, path)
    for (const line of lines) expect(text.split('\n')).toContain(line)
    if (absent !== undefined) expect(text.split('\n').slice(1).join('\n')).not.toContain(absent)
    expect(await generate(root, `${args} --check`)).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
  })

  test('takes the dialect from DATABASE_URL, and asks for it without one', async ({ expect }) => {
    const root = app()
    const env = { DATABASE_URL: 'postgres://localhost/app' }
    expect(await generate(root, '--schema drizzle', env)).toMatchObject({ code: 0 })
    expect(read(root, 'src/generated/auth-schema.ts')).toContain('pgTable')
    const { code, stderr } = await generate(root, '--schema drizzle')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'Name the database: pass --dialect, or set AUTH_DATABASE_URL or DATABASE_URL.\n',
    })
  })

  test('--check exits with 1 if the schema differs or is missing', async ({ expect }) => {
    const root = app()
    const args = '--schema drizzle --dialect sqlite'
    expect(await generate(root, `${args} --check`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is missing. Run "sallyport generate --schema drizzle".'),
    })
    await generate(root, args)
    writeFileSync(join(root, 'src/other.ts'), 'export default { plugins: [] }')
    expect(await generate(root, `${args} --auth src/other.ts --check`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('differs from the auth definition. Run "sallyport generate --schema'),
    })
  })

  test("doesn't replace a file that it didn't write", async ({ expect }) => {
    const root = app({ 'src/db/schema.ts': 'export const mine = 1' })
    const run = await generate(root, '--schema drizzle --dialect sqlite --out src/db/schema.ts')
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('was not written by') })
    expect(read(root, 'src/db/schema.ts')).toBe('export const mine = 1')
  })
})

describe('an existing schema.prisma', () => {
  const own = `datasource db {\n  provider = "sqlite"\n}\n\nmodel Post {\n  id String @id\n}\n`
  const args = '--schema prisma --dialect sqlite'

  test("keeps the app's models, and the fields that the app adds to ours", async ({ expect }) => {
    const root = app({ 'prisma/schema.prisma': own })
    await generate(root, args)
    const first = read(root, 'prisma/schema.prisma')
    expect(first.startsWith(own)).toBe(true)
    const edited = `${first.replace('  @@map("user")', '  posts Post[]\n\n  @@map("user")')}\nenum Color {\n  RED\n}\n`
    writeFileSync(join(root, 'prisma/schema.prisma'), edited.replace('  image         String?\n', ''))
    expect(await generate(root, `${args} --check`)).toMatchObject({ code: 1 })
    expect(await generate(root, args)).toMatchObject({ code: 0 })
    const second = read(root, 'prisma/schema.prisma')
    expect(second).toMatch(/model User \{[^}]* image +String\?\n[^}]* posts Post\[\]\n/)
    expect(second.endsWith('\nenum Color {\n  RED\n}\n')).toBe(true)
  })

  test('that prisma format has changed is up to date', async ({ expect }) => {
    const root = app({ 'prisma/schema.prisma': own })
    await generate(root, args)
    const text = read(root, 'prisma/schema.prisma')
    writeFileSync(join(root, 'prisma/schema.prisma'), text.replaceAll(/ {2,}(?=\S)/g, '  '))
    expect(await generate(root, `${args} --check`)).toMatchObject({ code: 0 })
  })

  test('with a model of the same name is rejected', async ({ expect }) => {
    const text = `${own}\nmodel User {\n  id String @id\n}\n`
    const root = app({ 'prisma/schema.prisma': text })
    expect(await generate(root, args)).toMatchObject({
      code: 1,
      stderr: 'The Prisma schema already has a model User. Rename it, or remove it.\n',
    })
    expect(read(root, 'prisma/schema.prisma')).toBe(text)
  })
})

describe('a schema folder of Prisma', () => {
  const main = 'datasource db {\n  provider = "sqlite"\n}\n'
  const args = '--schema prisma --dialect sqlite --out prisma/schema/auth.prisma'

  test('gets a file with only our models', async ({ expect }) => {
    const root = app({ 'prisma/schema/main.prisma': main })
    expect(await generate(root, args)).toMatchObject({ code: 0 })
    const text = read(root, 'prisma/schema/auth.prisma')
    expect(text).toMatch(/^\/\/ Written by "sallyport generate"/)
    expect(text).toContain('model User {')
    expect(text).not.toMatch(/datasource|generator/)
    expect(await generate(root, `${args} --check`)).toMatchObject({ code: 0, stdout: 'up to date\n' })
  })

  test('with a model of the same name in another file is rejected', async ({ expect }) => {
    const root = app({ 'prisma/schema/main.prisma': main, 'prisma/schema/user.prisma': 'model User {\n}\n' })
    for (const out of ['', '--out prisma/schema/main.prisma'])
      expect(await generate(root, `${args} ${out}`.trim())).toMatchObject({
        code: 1,
        stderr: 'The Prisma schema already has a model User. Rename it, or remove it.\n',
      })
  })

  test("isn't two schemas for two databases", async ({ expect }) => {
    const root = app({ 'prisma/schema.prisma': main, 'prisma/postgres.prisma': `${main}model User {\n}\n` })
    expect(await generate(root, '--schema prisma --dialect sqlite')).toMatchObject({ code: 0 })
  })
})
