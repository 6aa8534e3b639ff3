import { ConfigurationError } from '../../protocol/errors.ts'
import { type Engine, quote } from './mapping.ts'

/** The schema in the Kysely names of our internal tables, and its default name in PostgreSQL. */
export const INTERNAL_SCHEMA = 'sallyport'

export type InternalTable =
  | 'audit'
  | 'rate_limit'
  | 'revocation_log'
  | 'challenge'
  | 'service_token'
  | 'service_call'

/** Where our internal tables are: in a schema in PostgreSQL. In SQLite their names have a prefix. */
export interface InternalNames {
  readonly engine: Engine
  readonly schema: string
}

/** Returns the quoted name of an internal table for raw SQL. */
export function internalTable(internal: InternalNames, table: InternalTable): string {
  return quote(storedName(internal, table))
}

/** Returns the name of an internal table with its schema or prefix. */
export function storedName({ engine, schema }: InternalNames, table: string): string {
  return engine === 'sqlite' ? prefixed(table) : `${schema}.${table}`
}

/** Returns the name of an internal table in SQLite. */
export function prefixed(table: string): string {
  return `${INTERNAL_SCHEMA}_${table}`
}

/** Returns the channel on which the nodes of a schema notify each other. */
export function channelOf(schema: string): string {
  return `${schema}_revocation`
}

/** Names of channels and triggers contain the schema, and PostgreSQL truncates names after 63 bytes. */
const SCHEMA = /^(?!pg_|public$|information_schema$)[a-z_][a-z0-9_]{0,39}$/

/** @throws ConfigurationError if our tables can't be in this schema */
export function checkSchema(schema: string): string {
  if (SCHEMA.test(schema)) return schema
  throw new ConfigurationError(
    `schema ${JSON.stringify(schema)} is invalid. Name a schema that only Sallyport uses, with at most 40 lowercase letters, digits, and underscores.`,
  )
}
