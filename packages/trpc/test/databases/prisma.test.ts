import { withAuthStore } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import {
  type DatabaseKind,
  databaseKinds,
  type TestDatabase,
} from '../../../core/test/support/database-kinds.ts'
import { hostApp } from '../../../core/test/support/host-tables.ts'
import { literal } from '../../../core/test/support/stored-sessions.ts'
import { guardedApp } from './guarded-app.ts'
import { prismaApp } from './prisma-app.ts'

type Engine = DatabaseKind['name']

/** Better Auth's tables as its generator writes them for Prisma. */
const betterAuth = (engine: Engine, isChanged: boolean) => `
datasource db {
  provider = "${engine.toLowerCase()}"
}
model User {
  id            String    @id
  name          String
  email         String    @unique
  emailVerified Boolean   @default(false)
  image         String?
  createdAt     DateTime  @default(now())
  updatedAt     DateTime  @default(now())
  role          String?   ${ifChanged(isChanged, engine, { PostgreSQL: '@db.VarChar(20)', SQLite: '@default("user")' })}
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
  expiresAt      DateTime ${ifChanged(isChanged, engine, { PostgreSQL: '@db.Timestamp(6)', SQLite: '@default(now())' })}
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

const ifChanged = (isChanged: boolean, engine: Engine, attributes: Record<Engine, string>) =>
  isChanged ? attributes[engine] : ''

const session = { columns: { lastAuthenticatedAt: 'createdAt' } }
const names = { userId: 'userId', expiresAt: 'expiresAt', createdAt: 'createdAt', updatedAt: 'updatedAt' }
/** How Prisma writes a date. */
const write = {
  PostgreSQL: (date: Date) => `timestamp '${date.toISOString().slice(0, -1)}'`,
  SQLite: (date: Date) => literal(date.toISOString().replace('Z', '+00:00')),
}

async function openMapped(database: TestDatabase) {
  const store = await database.openStore({ session })
  return { ...guardedApp(withAuthStore({}, store)), limits: store.limits, close: store.close }
}

/** Returns the statements of a diff, without those that drop our tables: Prisma manages a whole SQLite file. */
const changesIn = (diff: string) =>
  diff.split('\n').filter((line) => !/^(?:$|--|PRAGMA foreign_keys|DROP TABLE "sallyport_)/.test(line))

const kinds = await databaseKinds()
const changes = [
  { change: 'a changed column', isChanged: true },
  { change: 'no change', isChanged: false },
]

describe.each(kinds)("Prisma's schema engine on $name", (kind) => {
  test.each(changes)(
    'pushes and diffs $change beside a mapped store: no statement fails, and revocations reach a subscription',
    async ({ isChanged }) => {
      const database = await kind.create()
      const prisma = await prismaApp(database.url)
      const host = hostApp(database, { names, write: write[kind.name], dates: [] })
      const [before, after] = [betterAuth(kind.name, false), betterAuth(kind.name, isChanged)]
      await prisma.push(before)
      await host.runAll()
      const app = await openMapped(database)
      const [kept, watched] = [await host.signUp(), await host.signUp()]
      const stream = await app.subscribe(watched)
      expect(changesIn(await prisma.diff(before))).toEqual([])

      // The tool runs while the app is running.
      await prisma.push(after)
      expect(changesIn(await prisma.diff(after))).toEqual([])
      await host.runAll()
      expect(await app.call(kept)).toBeNull()
      expect(await app.limits?.consume('ada', { points: 1, duration: 60 })).toBeNull()
      expect(stream.reason).toBeNull()
      await host.deleteSession(watched)
      expect(await stream.ended).toBe('SESSION_NOT_FOUND')

      await app.close()
      await host.runAll()
      await prisma.push(before)
      await host.runAll()
      const again = await openMapped(database)
      expect(await again.call(kept)).toBeNull()
      await host.deleteSession(kept)
      expect(await again.call(kept)).toBe('SESSION_NOT_FOUND')
      expect(host.failed).toEqual([])
      await again.close()
    },
  )
})
