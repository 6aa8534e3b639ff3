import { execFile } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { withAuthStore } from '@sallyport/core'
import { openPostgres } from '@sallyport/core/postgres'
import { createAuthContext, sensitiveSessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { Pool } from 'pg'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import { PATIENT } from '../../../core/test/support/postgres.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { outcomeOf } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'
import { createPrisma, generatePrisma } from '../transaction/libraries.ts'
import { openForTests, postgresUrl } from '../transaction/stores.ts'

const note = pgTable('note', { id: text().primaryKey(), text: text().notNull() })
type DrizzleTransaction = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]

const url = await postgresUrl()
const app = await openForTests(url)
const pool = new Pool({ connectionString: url })
afterAll(() => pool.end())
const database = await openPostgres({ pool }, PATIENT)
afterAll(database.close)
const auth = createAuthContext(app.config)
const prisma = await createPrisma(url)
type Headers = Parameters<typeof auth.headers>[0]

/** What the app's `createContext` returns. */
const drizzleContext = (headers: Headers) => ({
  ...auth.headers(headers),
  db: withAuthStore(drizzle({ client: pool }), database),
})
const prismaContext = (headers: Headers) => ({
  ...auth.headers(headers),
  db: withAuthStore(prisma, database),
})

const d = initTRPC.context<ReturnType<typeof drizzleContext>>().create()
const drizzleRouter = d.router({
  write: d.procedure.use(sensitiveSessionMiddleware).mutation(async ({ ctx }) => {
    expectTypeOf(ctx.db).toExtend<NodePgDatabase>()
    const written = ctx.transaction(async (tx) => {
      expectTypeOf(tx).toEqualTypeOf<DrizzleTransaction>()
      const rows = await tx.insert(note).values({ id: crypto.randomUUID(), text: ctx.session.id }).returning()
      return rows.length
    })
    expectTypeOf(written).resolves.toBeNumber()
    return [await written, (await ctx.db.select().from(note)).length]
  }),
})
const p = initTRPC.context<ReturnType<typeof prismaContext>>().create()
const prismaRouter = p.router({
  write: p.procedure.use(sensitiveSessionMiddleware).mutation(async ({ ctx }) => {
    const data = { id: crypto.randomUUID(), text: ctx.session.id }
    return ctx.transaction((tx) => tx.note.create({ data }))
  }),
})

describe.each([
  {
    client: 'Drizzle',
    write: (headers: Headers) => drizzleRouter.createCaller(drizzleContext(headers)).write(),
  },
  {
    client: 'Prisma',
    write: (headers: Headers) => prismaRouter.createCaller(prismaContext(headers)).write(),
  },
])('a context with $client and our own tables on the same database', ({ write }) => {
  test("writes in the client's transaction until the session is revoked", async () => {
    const ada = await app.signIn()
    const { headers } = browser(ada)
    expect((await outcomeOf(write(headers))).rejection).toBeNull()
    expect(await app.notes()).toContain(ada.sessionId)
    await app.revoke(ada)
    expect((await outcomeOf(write(headers))).rejection).toMatchObject({
      auth: { reason: 'SESSION_NOT_FOUND' },
    })
    expect((await app.notes()).filter((text) => text === ada.sessionId)).toHaveLength(1)
  })
})

/** Compiles with the client that Prisma generated. */
const PRISMA_APP = `
import { withAuthStore } from '@sallyport/core'
import type { openPostgres } from '@sallyport/core/postgres'
import { type AuthContext, sensitiveSessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Note, Prisma, PrismaClient } from './client/client.ts'

declare const client: PrismaClient
declare const auth: AuthContext
declare const database: Awaited<ReturnType<typeof openPostgres>>
const createContext = () => ({ ...auth, db: withAuthStore(client, database) })
const t = initTRPC.context<ReturnType<typeof createContext>>().create()
t.procedure.use(sensitiveSessionMiddleware).mutation(({ ctx }) => {
  const prisma: PrismaClient = ctx.db
  const notes: Promise<Note[]> = prisma.note.findMany()
  return ctx.transaction(async (tx: Prisma.TransactionClient): Promise<Note[]> => notes)
})
t.procedure.use(sensitiveSessionMiddleware).mutation(({ ctx }) =>
  ctx.transaction(async (tx) => {
    const client: Prisma.TransactionClient = tx
    const created: Note = await client.note.create({ data: { id: '1', text: 'a note' } })
    // @ts-expect-error a note has a text
    return tx.note.create({ data: { id: created.id } })
  }),
)
`

// `pnpm test:databases` also runs the compiler.
const longTest = test.runIf(process.env.DATABASES === 'all')

longTest('ctx.db is the generated PrismaClient, and ctx.transaction has its transaction', async () => {
  const folder = temporaryDirectory()
  cpSync(generatePrisma(), folder, { recursive: true })
  const compilerOptions = {
    paths: { '@sallyport/trpc': [pathOf('../../src/server.ts')] },
    typeRoots: [pathOf('../../../../node_modules/@types')],
  }
  const config = { extends: pathOf('../../../../tsconfig.base.json'), compilerOptions, files: ['app.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'app.ts'), PRISMA_APP)
  const tsc = pathOf('../../node_modules/typescript/bin/tsc')
  const running = promisify(execFile)(process.execPath, [
    tsc,
    '-p',
    folder,
    '--pretty',
    'false',
    '--singleThreaded',
  ])
  const { stdout } = await running.catch((error: { stdout: string }) => error)
  // `tsc` checks the sources of the library elsewhere.
  expect(stdout.split('\n').filter((line) => line.includes('app.ts'))).toEqual([])
})

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
