import {
  boolean,
  doublePrecision,
  jsonb,
  type PgTable,
  getTableConfig as pgConfig,
  integer as pgInteger,
  pgSchema,
  text as pgText,
  serial,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'
import {
  integer,
  real,
  type SQLiteTable,
  getTableConfig as sqliteConfig,
  sqliteTable,
  text,
} from 'drizzle-orm/sqlite-core'

/** Better Auth's tables in a Drizzle schema for SQLite. Columns without a name have that of their key. */
export function sqliteTables(name: (table: string) => string, mode: 'timestamp' | 'timestamp_ms') {
  const date = () => integer({ mode })
  const flag = () => integer({ mode: 'boolean' })
  const id = () => text().primaryKey()
  return {
    user: sqliteTable(name('user'), {
      id: id(),
      name: text(),
      email: text('e_mail'),
      emailVerified: flag(),
      image: text(),
      createdAt: date(),
      updatedAt: date(),
      role: text(),
      banned: flag(),
      banReason: text(),
      banExpires: date(),
      birthday: date(),
      settings: text({ mode: 'json' }),
      tags: text({ mode: 'json' }),
      points: real(),
      newsletter: flag(),
      note: text(),
    }),
    session: sqliteTable(name('session'), {
      id: id(),
      expiresAt: date(),
      token: text(),
      createdAt: integer('began_at', { mode }),
      updatedAt: date(),
      ipAddress: text(),
      userAgent: text(),
      userId: text('person'),
      impersonatedBy: text(),
      activeOrganizationId: text(),
    }),
    account: sqliteTable(name('account'), {
      id: id(),
      // Better Auth 1.7.0 writes it.
      issuer: text(),
      accountId: text(),
      providerId: text(),
      userId: text(),
      accessToken: text(),
      refreshToken: text(),
      idToken: text(),
      accessTokenExpiresAt: date(),
      refreshTokenExpiresAt: date(),
      scope: text(),
      password: text(),
      createdAt: date(),
      updatedAt: date(),
    }),
    verification: sqliteTable(name('verification'), {
      id: id(),
      identifier: text(),
      value: text(),
      expiresAt: date(),
      createdAt: date(),
      updatedAt: date(),
    }),
    organization: sqliteTable(name('organization'), {
      id: id(),
      name: text(),
      slug: text(),
      logo: text(),
      createdAt: date(),
      metadata: text(),
    }),
    member: sqliteTable(name('member'), {
      id: id(),
      organizationId: text('org'),
      userId: text(),
      role: text('rank'),
      createdAt: date(),
    }),
    invitation: sqliteTable(name('invitation'), {
      id: id(),
      organizationId: text(),
      email: text(),
      role: text(),
      status: text(),
      expiresAt: date(),
      createdAt: date(),
      inviterId: text(),
    }),
  }
}

/** The same for PostgreSQL, in a schema. */
export function postgresTables(generateId?: 'serial' | 'uuid') {
  const { table } = pgSchema('auth')
  const date = () => timestamp()
  const id = () => {
    if (generateId === 'serial') return serial().primaryKey()
    return generateId === 'uuid' ? uuid().primaryKey() : pgText().primaryKey()
  }
  const reference = (column: string) => {
    if (generateId === 'serial') return pgInteger(column)
    return generateId === 'uuid' ? uuid(column) : pgText(column)
  }
  return {
    users: table('people', {
      id: id(),
      name: pgText('full_name'),
      email: pgText(),
      emailVerified: boolean(),
      image: pgText(),
      createdAt: date(),
      updatedAt: date(),
      role: pgText(),
      banned: boolean('is_banned'),
      banReason: pgText(),
      banExpires: date(),
      birthday: date(),
      settings: jsonb(),
      tags: pgText().array(),
      points: doublePrecision(),
      newsletter: boolean(),
      note: pgText(),
    }),
    sessions: table('login', {
      id: id(),
      expiresAt: timestamp('expires_at', { withTimezone: true }),
      token: pgText(),
      createdAt: timestamp({ mode: 'string' }),
      updatedAt: date(),
      ipAddress: pgText(),
      userAgent: pgText(),
      userId: reference('user_id'),
      impersonatedBy: pgText(),
      activeOrganizationId: pgText('organization'),
    }),
    accounts: table('account', {
      id: id(),
      issuer: pgText(),
      accountId: pgText(),
      providerId: pgText(),
      userId: reference('userId'),
      accessToken: pgText(),
      refreshToken: pgText(),
      idToken: pgText(),
      accessTokenExpiresAt: date(),
      refreshTokenExpiresAt: date(),
      scope: pgText(),
      password: pgText(),
      createdAt: date(),
      updatedAt: date(),
    }),
    verifications: table('verification', {
      id: id(),
      identifier: pgText(),
      value: pgText(),
      expiresAt: date(),
      createdAt: date(),
      updatedAt: date(),
    }),
    organizations: table('organization', {
      id: id(),
      name: pgText(),
      slug: pgText(),
      logo: pgText(),
      createdAt: date(),
      metadata: pgText(),
    }),
    members: table('member', {
      id: id(),
      organizationId: reference('org'),
      userId: reference('userId'),
      role: pgText('rank'),
      createdAt: date(),
    }),
    invitations: table('invitation', {
      id: id(),
      organizationId: reference('organizationId'),
      email: pgText(),
      role: pgText(),
      status: pgText(),
      expiresAt: date(),
      createdAt: date(),
      inviterId: reference('inviterId'),
    }),
  }
}

/** Returns the statements that create tables. */
export function createSqlite(
  tables: Readonly<Record<string, SQLiteTable>>,
  rename = (name: string) => name,
): string {
  return Object.values(tables)
    .map((table) => {
      const { name, columns } = sqliteConfig(table)
      const list = columns.map((column) => {
        const key = Reflect.get(column, 'keyAsName') ? rename(column.name) : column.name
        return `"${key}" ${column.getSQLType()}${column.primary ? ' primary key' : ''}`
      })
      return `create table "${name}" (${list.join()});`
    })
    .join('\n')
}

export function createPostgres(tables: Readonly<Record<string, PgTable>>): string {
  const statements = Object.values(tables).map((table) => {
    const { name, schema, columns } = pgConfig(table)
    const list = columns.map(
      (column) => `"${column.name}" ${column.getSQLType()}${column.primary ? key(column.getSQLType()) : ''}`,
    )
    return `create table "${schema}"."${name}" (${list.join()});`
  })
  return `create schema auth; ${statements.join('\n')}`
}

function key(type: string): string {
  return type === 'uuid' ? ' primary key default gen_random_uuid()' : ' primary key'
}
