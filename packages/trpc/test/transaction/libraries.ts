import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Execute } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { sql as drizzleSql } from 'drizzle-orm/sql'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Pool } from 'pg'
import { afterAll } from 'vitest'
import type { NoteTables } from './open-app.ts'

/** The app's own transaction. */
export interface OwnTransaction {
  /** For `lockSession`, as documented for this library. */
  readonly execute: Execute
  write(text: string): Promise<unknown>
}

/** Runs work in a library's transaction, which an error rolls back. */
export type OwnTransactions = <Result>(work: (own: OwnTransaction) => Promise<Result>) => Promise<Result>

const id = () => crypto.randomUUID()

export async function withKysely(url: string): Promise<OwnTransactions> {
  const pool = new Pool({ connectionString: url })
  const db = new Kysely<NoteTables>({ dialect: new PostgresDialect({ pool }) })
  afterAll(() => db.destroy())
  return (work) =>
    db.transaction().execute((trx) =>
      work({
        execute: (...query) => sql(...query).execute(trx),
        write: (text) => trx.insertInto('note').values({ id: id(), text }).execute(),
      }),
    )
}

export async function withDrizzle(url: string): Promise<OwnTransactions> {
  const pool = new Pool({ connectionString: url })
  afterAll(() => pool.end())
  const db = drizzle({ client: pool })
  const note = pgTable('note', { id: text().primaryKey(), text: text().notNull() })
  return (work) =>
    db.transaction((tx) =>
      work({
        execute: (...query) => tx.execute(drizzleSql(...query)),
        write: (text) => tx.insert(note).values({ id: id(), text }),
      }),
    )
}

export async function withPrisma(url: string): Promise<OwnTransactions> {
  const prisma = await createPrisma(url)
  return (work) =>
    prisma.$transaction(
      (tx) =>
        work({
          execute: (...query) => tx.$queryRaw(...query),
          write: (text) => tx.note.create({ data: { id: id(), text } }),
        }),
      { maxWait: 20_000, timeout: 20_000 },
    )
}

/** Generates and opens a client. */
export async function createPrisma(url: string): Promise<Prisma> {
  const PrismaClient = await generatePrismaClient()
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
  afterAll(() => prisma.$disconnect())
  return prisma
}

/** The parts of a generated client that the tests use. */
export interface Prisma {
  $transaction<Result>(
    work: (tx: PrismaTransaction) => Promise<Result>,
    options?: { readonly maxWait: number; readonly timeout: number },
  ): Promise<Result>
  $disconnect(): Promise<void>
}
interface PrismaTransaction {
  $queryRaw(query: TemplateStringsArray, ...values: unknown[]): Promise<unknown>
  readonly note: { create(options: { data: NoteTables['note'] }): Promise<unknown> }
}
type PrismaConstructor = new (options: { adapter: PrismaPg }) => Prisma

const SCHEMA = `
generator client {
  provider = "prisma-client"
  output = "./client"
}
datasource db {
  provider = "postgresql"
}
model Note {
  id   String @id
  text String
  @@map("note")
}
model Transaction {
  id String @id
}`

const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

async function generatePrismaClient(): Promise<PrismaConstructor> {
  const { PrismaClient } = await import(pathToFileURL(join(generatePrisma(), 'client', 'client.ts')).href)
  return PrismaClient
}

/** Generates `client/client.ts` once per schema and run, and returns its folder. */
export function generatePrisma(text: string = SCHEMA): string {
  const generated = join(tmpdir(), `sallyport-prisma-${createHash('sha256').update(text).digest('hex')}`)
  if (existsSync(generated)) return generated
  const directory = mkdtempSync(`${generated}-`)
  symlinkSync(NODE_MODULES, join(directory, 'node_modules'))
  const schema = join(directory, 'schema.prisma')
  writeFileSync(schema, text)
  // The migration engine, which would be downloaded, is not needed here.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  execFileSync(join(NODE_MODULES, '.bin', 'prisma'), ['generate', '--schema', schema], {
    cwd: directory,
    env,
    stdio: 'pipe',
  })
  try {
    renameSync(directory, generated)
  } catch {
    // Another process has just generated it.
    rmSync(directory, { recursive: true })
  }
  return generated
}
