import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import { prismaAdapter } from 'better-auth/adapters/prisma'
import { Pool } from 'pg'
import type { PostgresServer } from '../../../core/test/support/postgres.ts'
import { generatePrisma } from '../transaction/libraries.ts'
import { createPostgres, postgresTables } from './drizzle-tables.ts'

const DATES = 'createdAt DateTime?\n updatedAt DateTime?'

/** Prisma's models of `postgresTables()`. */
const SCHEMA = `
generator client {
  provider = "prisma-client"
  output = "./client"
}
datasource db {
  provider = "postgresql"
  schemas = ["auth"]
}
model User {
  id String @id
  name String? @map("full_name")
  email String?
  emailVerified Boolean?
  image String?
  ${DATES}
  role String?
  banned Boolean? @map("is_banned")
  banReason String?
  banExpires DateTime?
  birthday DateTime?
  settings Json?
  tags String[]
  points Float?
  newsletter Boolean?
  note String?
  @@map("people")
  @@schema("auth")
}
model Session {
  id String @id
  expiresAt DateTime? @map("expires_at")
  token String? @unique
  ${DATES}
  ipAddress String?
  userAgent String?
  userId String? @map("user_id")
  impersonatedBy String?
  activeOrganizationId String? @map("organization")
  @@map("login")
  @@schema("auth")
}
model Account {
  id String @id
  issuer String?
  accountId String?
  providerId String?
  userId String?
  accessToken String?
  refreshToken String?
  idToken String?
  accessTokenExpiresAt DateTime?
  refreshTokenExpiresAt DateTime?
  scope String?
  password String?
  ${DATES}
  @@map("account")
  @@schema("auth")
}
model Verification {
  id String @id
  identifier String?
  value String?
  expiresAt DateTime?
  ${DATES}
  @@map("verification")
  @@schema("auth")
}
model Organization {
  id String @id
  name String?
  slug String? @unique
  logo String?
  createdAt DateTime?
  metadata String?
  @@map("organization")
  @@schema("auth")
}
model Member {
  id String @id
  organizationId String? @map("org")
  userId String?
  role String? @map("rank")
  createdAt DateTime?
  @@map("member")
  @@schema("auth")
}
model Invitation {
  id String @id
  organizationId String?
  email String?
  role String?
  status String?
  expiresAt DateTime?
  createdAt DateTime?
  inviterId String?
  @@map("invitation")
  @@schema("auth")
}`

/** The same of `postgresTables('uuid')`. */
const UUID_SCHEMA = SCHEMA.replaceAll(
  '@id',
  '@id @default(dbgenerated("gen_random_uuid()")) @db.Uuid',
).replaceAll(/^ {2}(userId|organizationId|inviterId) String\?/gm, '$& @db.Uuid')

let databases = 0

/** Opens Better Auth on Prisma and PostgreSQL. */
export async function openPrisma(server: PostgresServer, generateId?: 'uuid') {
  const connectionString = await server.createDatabase(`prisma_${databases++}`)
  const pool = new Pool({ connectionString })
  pool.on('error', () => {})
  await pool.query(createPostgres(postgresTables(generateId)))
  const { PrismaClient } = await import(
    pathToFileURL(join(generatePrisma(generateId ? UUID_SCHEMA : SCHEMA), 'client', 'client.ts')).href
  )
  const ids = generateId && { advanced: { database: { generateId } } }
  const connect = ({ extension }: { extension?: object } = {}) => {
    const client = new PrismaClient({ adapter: new PrismaPg({ connectionString }, { schema: 'auth' }) })
    const db: object = extension ? client.$extends(extension) : client
    return { db, options: { database: prismaAdapter(db, { provider: 'postgresql' }), ...ids } }
  }
  return { connect, pool }
}
