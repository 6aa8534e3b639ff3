import { type AuthDatabase, withAuthStore } from '@sallyport/core'
import type { StoreMapping } from '@sallyport/core/postgres'
import { describe, expect, test } from 'vitest'
import { postgresKind, type TestDatabase } from '../../../core/test/support/database-kinds.ts'
import { hostApp } from '../../../core/test/support/host-tables.ts'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { guardedApp } from './guarded-app.ts'
import { prismaApp } from './prisma-app.ts'

/** The diff of a database that has what the schema says. */
const NO_CHANGE = /This is an empty migration/

const kind = postgresKind(await testPostgres())

/** Better Auth's tables as its generator writes them for Prisma. */
const betterAuth = (isChanged: boolean) => `
datasource db {
  provider = "postgresql"
}
model User {
  id            String    @id
  name          String
  email         String    @unique
  emailVerified Boolean   @default(false)
  image         String?
  createdAt     DateTime  @default(now())
  updatedAt     DateTime  @default(now())
  role          String?   ${isChanged ? '@db.VarChar(20)' : ''}
  banned        Boolean?  @default(false)
  banReason     String?
  banExpires    DateTime?
  ${isChanged ? 'locale String?' : ''}
  sessions      Session[]
  accounts      Account[]
  notes         Note[]
  @@map("user")
}
model Session {
  id             String   @id
  expiresAt      DateTime ${isChanged ? '@db.Timestamp(6)' : ''}
  token          String   @unique
  createdAt      DateTime @default(now())
  updatedAt      DateTime
  ipAddress      String?
  userAgent      String?  ${isChanged ? '@default("unknown")' : ''}
  userId         String
  user           User     @relation(fields: [userId], references: [id], onDelete: Cascade)
  impersonatedBy String?
  @@index([userId])
  @@map("session")
}
model Account {
  id         String   @id
  accountId  String
  providerId String
  userId     String
  user       User     @relation(fields: [userId], references: [id], onDelete: Cascade)
  password   String?
  createdAt  DateTime @default(now())
  updatedAt  DateTime
  @@map("account")
}
model Note {
  id     String @id
  userId String
  user   User   @relation(fields: [userId], references: [id], onDelete: Cascade)
  @@map("note")
}`

const mapping: StoreMapping = {
  session: { columns: { lastAuthenticatedAt: 'createdAt' } },
  dates: 'timestamp',
}
const names = { userId: 'userId', expiresAt: 'expiresAt', createdAt: 'createdAt', updatedAt: 'updatedAt' }
const write = (date: Date) => `timestamp '${date.toISOString().slice(0, -1)}'`

async function openMapped(database: TestDatabase): Promise<{ db: AuthDatabase; close(): Promise<void> }> {
  const store = await database.openStore(mapping)
  return { db: withAuthStore({}, store), close: store.close }
}

describe.each([
  { change: 'a changed column', isChanged: true },
  { change: 'no change', isChanged: false },
])("Prisma's schema engine with $change", ({ isChanged }) => {
  test('pushes and diffs beside a mapped store: no statement fails, and revocations reach a subscription', async () => {
    const database = await kind.create()
    const prisma = await prismaApp(database.url)
    const host = hostApp(database, { names, write, dates: [] })
    await prisma.push(betterAuth(false))
    await host.runAll()
    const app = await openMapped(database)
    const { call, subscribe } = guardedApp(app.db)
    const [kept, watched] = [await host.signUp(), await host.signUp()]
    const stream = await subscribe(watched)
    // It sees nothing of the library.
    expect(await prisma.diff(betterAuth(false))).toMatch(NO_CHANGE)

    await prisma.push(betterAuth(isChanged))
    expect(await prisma.diff(betterAuth(isChanged))).toMatch(NO_CHANGE)
    await host.runAll()
    expect(await call(kept)).toBeNull()
    expect(stream.reason).toBeNull()
    await host.deleteSession(watched)
    expect(await stream.ended).toBe('SESSION_NOT_FOUND')

    await app.close()
    await host.runAll()
    await prisma.push(betterAuth(isChanged))
    await host.runAll()
    const again = await openMapped(database)
    expect(await guardedApp(again.db).call(kept)).toBeNull()
    await host.deleteSession(kept)
    expect(await guardedApp(again.db).call(kept)).toBe('SESSION_NOT_FOUND')
    expect(host.failed).toEqual([])
    await again.close()
  })
})
