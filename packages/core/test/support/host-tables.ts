import { randomUUID } from 'node:crypto'
import type { StoreMapping } from '@sallyport/core/postgres'
import type { TestDatabase } from './database-kinds.ts'
import { inHours, literal } from './stored-sessions.ts'

export type HostEngine = 'SQLite' | 'PostgreSQL'

/** The tables of an app that manages them with its own tool. */
export interface HostTables {
  /** For a store on these tables; null if they are the tables of the library. */
  readonly mapping: StoreMapping | null
  /** The schema for Drizzle: the tables of sessions, and one of the app. Our internal tables aren't in it. */
  readonly schema: string
  /** The schema with changed columns. One of them is read by Step 2, and one can't be changed in place. */
  readonly changedSchema: string
  /** Returns a date as a value in SQL. */
  write(date: Date): string
  readonly names: Readonly<Record<'userId' | 'expiresAt' | 'createdAt' | 'updatedAt', string>>
  /** The columns that a new session needs further, all of them dates. */
  readonly dates: readonly string[]
}

interface Types {
  readonly table: string
  flag(name: string): string
  date(name: string, options?: string): string
  short(name: string): string
}

/** The types of a table builder of Drizzle. */
const TYPES: Readonly<Record<HostEngine, Types>> = {
  SQLite: {
    table: "import { integer, sqliteTable as table, text, uniqueIndex } from 'drizzle-orm/sqlite-core'",
    flag: (name) => `integer('${name}', { mode: 'boolean' })`,
    date: (name) => `text('${name}')`,
    short: (name) => `text('${name}')`,
  },
  PostgreSQL: {
    table:
      "import { boolean, integer, pgTable as table, text, timestamp, uniqueIndex, varchar } from 'drizzle-orm/pg-core'",
    flag: (name) => `boolean('${name}')`,
    date: (name, options = '') => `timestamp('${name}', { withTimezone: true, ${options} })`,
    short: (name) => `varchar('${name}', { length: 20 })`,
  },
}

/** Better Auth's tables as its generator writes them for Drizzle, with dates as seconds in SQLite. */
export function betterAuthTables(engine: HostEngine): HostTables {
  const { table, flag } = TYPES[engine]
  const date = (name: string, precision?: number) =>
    engine === 'SQLite'
      ? `integer('${name}', { mode: 'timestamp' })`
      : `timestamp('${name}'${precision === undefined ? '' : `, { precision: ${precision} }`})`
  // Without unique indexes: drizzle-kit 0.31 creates those of a rebuilt table twice, and fails.
  const schema = (isChanged: boolean) => `
    ${table}
    export const user = table('user', {
      id: text('id').primaryKey(),
      name: text('name').notNull(),
      email: text('email').notNull().unique(),
      emailVerified: ${flag('email_verified')}.notNull().default(false),
      image: text('image'),
      createdAt: ${date('created_at')}.notNull(),
      updatedAt: ${date('updated_at')}.notNull(),
      role: ${isChanged ? TYPES[engine].short('role') : "text('role')"},
      banned: ${flag('banned')},
      banReason: text('ban_reason'),
      banExpires: ${date('ban_expires')},
      ${isChanged ? "locale: text('locale')," : ''}
    })
    export const session = table('session', {
      id: text('id').primaryKey(),
      expiresAt: ${date('expires_at', isChanged ? 3 : undefined)}.notNull(),
      token: text('token').notNull(),
      createdAt: ${date('created_at')}.notNull(),
      updatedAt: ${date('updated_at')}.notNull(),
      ipAddress: text('ip_address'),
      userAgent: text('user_agent')${isChanged ? ".default('unknown')" : ''},
      userId: text('user_id').notNull().references(() => user.id, { onDelete: 'cascade' }),
      impersonatedBy: text('impersonated_by'),
    })
    export const account = table('account', {
      id: text('id').primaryKey(),
      accountId: text('account_id').notNull(),
      providerId: text('provider_id').notNull(),
      userId: text('user_id').notNull().references(() => user.id, { onDelete: 'cascade' }),
      password: text('password'),
      createdAt: ${date('created_at')}.notNull(),
      updatedAt: ${date('updated_at')}.notNull(),
    })
    ${ownTable}`
  return {
    mapping: {
      session: {
        columns: { userId: 'user_id', expiresAt: 'expires_at', lastAuthenticatedAt: 'created_at' },
      },
      user: { columns: { banExpires: 'ban_expires' } },
      dates: engine === 'SQLite' ? 'seconds' : 'timestamp',
    },
    schema: schema(false),
    changedSchema: schema(true),
    write: (moment) =>
      engine === 'SQLite'
        ? String(Math.floor(moment.getTime() / 1000))
        : `timestamp ${literal(moment.toISOString().slice(0, -1))}`,
    names: { userId: 'user_id', expiresAt: 'expires_at', createdAt: 'created_at', updatedAt: 'updated_at' },
    dates: [],
  }
}

/** Returns statements that create {@link betterAuthTables}, for tests without Drizzle. */
export function betterAuthSql(engine: HostEngine): string {
  const [date, flag] = engine === 'SQLite' ? ['integer', 'integer'] : ['timestamp', 'boolean']
  return `
    create table "user" (id text primary key, name text not null, email text not null unique,
      image text, created_at ${date} not null, updated_at ${date} not null,
      role text, banned ${flag}, ban_reason text, ban_expires ${date});
    create table session (id text primary key, expires_at ${date} not null, token text not null unique,
      created_at ${date} not null, updated_at ${date} not null, ip_address text, user_agent text,
      user_id text not null references "user" (id) on delete cascade, impersonated_by text)`
}

/** A table of the app. */
const ownTable = `
    export const note = table('note', {
      id: text('id').primaryKey(),
      userId: text('user_id').references(() => user.id, { onDelete: 'cascade' }),
    })`

/** The library's own tables, in a Drizzle schema of the app. */
export function libraryTables(engine: HostEngine): HostTables {
  const { table, flag, date, short } = TYPES[engine]
  const schema = (isChanged: boolean) => `
    ${table}
    export const user = table('user', {
      id: text('id').primaryKey(),
      name: text('name').notNull(),
      email: text('email').notNull(),
      emailVerified: ${flag('emailVerified')}.notNull().default(false),
      image: text('image'),
      role: ${isChanged ? short('role') : "text('role')"}.notNull().default('user'),
      banned: ${flag('banned')}.notNull().default(false),
      banReason: text('banReason'),
      banExpires: ${date('banExpires')},
      createdAt: ${date('createdAt')}.notNull(),
      updatedAt: ${date('updatedAt')}.notNull(),
      ${isChanged ? "locale: text('locale')," : ''}
    }, (row) => [uniqueIndex('user_email_key').on(row.email)])
    export const session = table('session', {
      id: text('id').primaryKey(),
      token: text('token').notNull(),
      userId: text('userId').notNull().references(() => user.id, { onDelete: 'cascade' }),
      ipAddress: text('ipAddress'),
      userAgent: text('userAgent')${isChanged ? ".default('unknown')" : ''},
      expiresAt: ${date('expiresAt', isChanged ? 'precision: 3' : '')}.notNull(),
      lastAuthenticatedAt: ${date('lastAuthenticatedAt')}.notNull(),
      lastSeenAt: ${date('lastSeenAt')}.notNull(),
      remembered: ${flag('remembered')}.notNull().default(true),
      previousToken: text('previousToken'),
      rotatedAt: ${date('rotatedAt')},
      tokenFamily: text('tokenFamily'),
      version: integer('version').notNull().default(1),
      provedVersion: integer('provedVersion').notNull().default(1),
      issuer: text('issuer'),
      amr: text('amr'),
      acr: text('acr'),
      createdAt: ${date('createdAt')}.notNull(),
      updatedAt: ${date('updatedAt')}.notNull(),
    })
    export const account = table('account', {
      id: text('id').primaryKey(),
      userId: text('userId').notNull().references(() => user.id, { onDelete: 'cascade' }),
      accountId: text('accountId').notNull(),
      providerId: text('providerId').notNull(),
      password: text('password'),
      createdAt: ${date('createdAt')}.notNull(),
      updatedAt: ${date('updatedAt')}.notNull(),
    }, (row) => [uniqueIndex('account_provider').on(row.providerId, row.accountId)])
    ${ownTable}`
  return {
    mapping: null,
    schema: schema(false),
    changedSchema: schema(true),
    write: (moment) => literal(moment.toISOString()),
    names: { userId: 'userId', expiresAt: 'expiresAt', createdAt: 'createdAt', updatedAt: 'updatedAt' },
    dates: ['lastAuthenticatedAt', 'lastSeenAt'],
  }
}

/** A session that the app created. */
export interface HostSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
}

/** The statements that an app runs, such as those of its sign-up. */
export interface HostApp {
  /** Inserts a user with a session. */
  signUp(): Promise<HostSession>
  deleteSession(session: HostSession): Promise<void>
  /** Runs every kind of statement on both tables. */
  runAll(): Promise<void>
  /** The statements that have failed so far, each with its error. */
  readonly failed: string[]
}

export function hostApp(
  { run }: Pick<TestDatabase, 'run'>,
  { write, names, dates }: Pick<HostTables, 'write' | 'names' | 'dates'>,
): HostApp {
  const failed: string[] = []
  const { userId: user, expiresAt: expires, createdAt, updatedAt } = names

  async function attempt(statement: string): Promise<void> {
    await run(statement).catch((error: Error) => failed.push(`${statement}: ${error.message}`))
  }

  async function signUp(): Promise<HostSession> {
    const [id, userId, expiresAt, now] = [randomUUID(), randomUUID(), inHours(1), write(new Date())]
    const columns = [createdAt, updatedAt, ...dates].map((name) => `"${name}"`)
    await attempt(`insert into "user" (id, name, email, "${createdAt}", "${updatedAt}")
      values ('${userId}', 'Ada', '${userId}@example.com', ${now}, ${now})`)
    await attempt(`insert into session (id, token, "${user}", "${expires}", ${columns.join(', ')})
      values ('${id}', 'sha256:${id}', '${userId}', ${write(expiresAt)}, ${columns.map(() => now).join(', ')})`)
    return { id, userId, expiresAt }
  }

  const deleteSession = ({ id }: HostSession) => attempt(`delete from session where id = '${id}'`)

  return {
    failed,
    signUp,
    deleteSession,
    async runAll() {
      const [first, second, third] = [await signUp(), await signUp(), await signUp()]
      await attempt(`update "user" set name = 'Eve' where id = '${first.userId}'`)
      await attempt(`update "user" set role = 'admin' where id = '${first.userId}'`)
      await attempt(`update session set "${updatedAt}" = ${write(new Date())} where id = '${first.id}'`)
      await attempt(`update session set "${expires}" = ${write(inHours(2))} where id = '${first.id}'`)
      await attempt(`update session set "${expires}" = ${write(inHours(-1))} where id = '${second.id}'`)
      await deleteSession(first)
      await deleteSession(second)
      await attempt(`delete from "user" where id = '${third.userId}'`)
    },
  }
}
