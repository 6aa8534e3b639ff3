import type { SelectType } from 'kysely'
import { type AddedColumns, storedColumns } from '../../session/added-columns.ts'
import type { AuthTables } from './kysely-tables.ts'
import type { Column, Table, Tables } from './table.ts'

type InternalName = Exclude<Extract<keyof AuthTables, `sallyport.${string}`>, 'sallyport.revocation_log'>

/** Tables whose columns agree with the types for Kysely. */
type Described<Name extends keyof AuthTables> = {
  readonly [Of in Name]: Omit<Table, 'columns'> & {
    readonly columns: {
      readonly [Key in keyof AuthTables[Of]]: DescribedColumn<SelectType<AuthTables[Of][Key]>>
    }
  }
}

type DescribedColumn<Value> = Omit<Column, 'type' | 'isNullable'> & {
  readonly type: TypeOf<NonNullable<Value>>
} & (null extends Value ? { readonly isNullable: true } : { readonly isNullable?: never })

type TypeOf<Value> = [Value] extends [string]
  ? 'text'
  : [Value] extends [number]
    ? 'integer' | 'bigint'
    : [Value] extends [boolean | number]
      ? 'flag'
      : 'timestamp'

const id = { type: 'text', isPrimaryKey: true } as const
const text = { type: 'text' } as const
const nullableText = { type: 'text', isNullable: true } as const
const timestamp = { type: 'timestamp' } as const
const nullableTimestamp = { type: 'timestamp', isNullable: true } as const
const userId = { ...text, references: { table: 'user', column: 'id', onDelete: 'cascade' } } as const
const one = { type: 'integer', default: 1 } as const
const dates = { createdAt: timestamp, updatedAt: timestamp } as const

/** The tables of users, in the order of references. With `migrate: false`, the app's tool creates them. */
export const USER_TABLES: Readonly<Record<'user' | 'session' | 'account', Table>> = {
  user: {
    columns: {
      id,
      name: text,
      email: text,
      emailVerified: { type: 'flag', default: false },
      image: nullableText,
      role: { ...text, default: 'user' },
      banned: { type: 'flag', default: false },
      banReason: nullableText,
      banExpires: nullableTimestamp,
      ...dates,
    },
    indexes: { user_email_key: { columns: ['email'], isUnique: true } },
  },
  session: {
    columns: {
      id,
      token: text,
      userId,
      ipAddress: nullableText,
      userAgent: nullableText,
      expiresAt: timestamp,
      lastAuthenticatedAt: timestamp,
      lastSeenAt: timestamp,
      remembered: { type: 'flag', default: true },
      previousToken: nullableText,
      rotatedAt: nullableTimestamp,
      tokenFamily: nullableText,
      version: one,
      provedVersion: one,
      issuer: nullableText,
      amr: nullableText,
      acr: nullableText,
      ...dates,
    },
    indexes: {
      session_token_key: { columns: ['token'], isUnique: true },
      session_expiresAt: { columns: ['expiresAt'] },
      session_userId: { columns: ['userId'] },
    },
  },
  account: {
    columns: { id, userId, accountId: text, providerId: text, password: nullableText, ...dates },
    indexes: {
      account_provider: { columns: ['providerId', 'accountId'], isUnique: true },
      account_userId: { columns: ['userId'] },
    },
  },
} satisfies Described<'user' | 'session' | 'account'>

/** The tables that only we read and write. */
export const INTERNAL_TABLES: Readonly<Record<InternalName, Table>> = {
  'sallyport.audit': {
    columns: {
      id,
      type: text,
      userId: nullableText,
      sessionId: nullableText,
      actorId: nullableText,
      address: nullableText,
      userAgent: nullableText,
      actingSessionId: nullableText,
      detail: text,
      createdAt: timestamp,
    },
    indexes: {
      sallyport_audit_createdAt: { columns: ['createdAt'] },
      sallyport_audit_userId: { columns: ['userId'] },
      sallyport_audit_sessionId: { columns: ['sessionId'] },
      sallyport_audit_actingSessionId: { columns: ['actingSessionId'] },
      sallyport_audit_actorId: { columns: ['actorId'] },
    },
  },
  'sallyport.rate_limit': {
    columns: {
      key: id,
      points: { type: 'integer' },
      expire: { type: 'bigint', isNullable: true },
    },
  },
  'sallyport.challenge': {
    columns: {
      id,
      userId: text,
      amr: text,
      acr: nullableText,
      remembered: { type: 'flag' },
      attempts: { type: 'integer' },
      expiresAt: timestamp,
    },
    indexes: {
      sallyport_challenge_userId: { columns: ['userId'] },
      sallyport_challenge_expiresAt: { columns: ['expiresAt'] },
    },
  },
  'sallyport.service_token': {
    columns: { id, expiresAt: timestamp },
    indexes: { sallyport_service_token_expiresAt: { columns: ['expiresAt'] } },
  },
  'sallyport.service_call': {
    columns: {
      id,
      fn: text,
      body: text,
      userId: nullableText,
      result: nullableText,
      expiresAt: timestamp,
    },
    indexes: { sallyport_service_call_expiresAt: { columns: ['expiresAt'] } },
  },
} satisfies Described<InternalName>

const name = { type: 'varchar(255)', isPrimaryKey: true } as const

/** Returns the tables in which Kysely records migrations. */
export function migrationRecords(table: string): Tables {
  return {
    [table]: { columns: { name, timestamp: { type: 'varchar(255)' } } },
    [`${table}_lock`]: { columns: { id: name, is_locked: { type: 'integer', default: 0 } } },
  }
}

/** Adds the declared columns to `user` and `session`. */
export function withColumns(tables: Tables, columns: AddedColumns): Tables {
  const added = storedColumns(columns)
  const extended = (['user', 'session'] as const).flatMap((name): [string, Table][] => {
    const table = tables[name]
    const columns = Object.entries(added[name]).map(
      ([column, { type, default: value }]): [string, Column] => [
        column,
        value === undefined ? { type, isNullable: true } : { type, default: value },
      ],
    )
    return table ? [[name, { ...table, columns: { ...table.columns, ...Object.fromEntries(columns) } }]] : []
  })
  return { ...tables, ...Object.fromEntries(extended) }
}
