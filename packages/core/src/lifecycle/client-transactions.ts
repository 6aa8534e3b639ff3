import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import type { Engine } from '../database/schema/mapping.ts'
import { type Execute, kyselyExecute, LOCK_TIMEOUT_MS } from './lock-session.ts'

/** The interactive transactions of the app's own database client. */
export interface ClientTransactions {
  /** Runs `work` in a transaction. A client whose transactions are synchronous needs synchronous work. */
  begin(work: (trx: object) => unknown): unknown
  /** Returns the {@link Execute} of a transaction. */
  executeIn(trx: object): Execute
}

/** Recognizes Kysely, Prisma, and Drizzle by their methods. Returns null for any other client. */
export function transactionsOf(client: object, engine: Engine): ClientTransactions | null {
  if (hasMethod(client, '$transaction'))
    return {
      begin: (work) => client.$transaction(work, PRISMA_OPTIONS),
      executeIn:
        (trx) =>
        (query, ...values) =>
          methodOf(trx, '$queryRaw')(query, ...values),
    }
  // An open transaction of Kysely has the method, which throws.
  if (!hasMethod(client, 'transaction') || isTransaction(client)) return null
  if (hasMethod(client, 'getExecutor'))
    return {
      begin: (work) => methodOf(client.transaction(), 'execute')(work),
      executeIn: (trx) => kyselyExecute((query) => methodOf(trx, 'executeQuery')(query), engine),
    }
  // Drizzle. In SQLite, `immediate` waits for other writers before it reads.
  const method = engine === 'sqlite' ? 'all' : 'execute'
  // Other clients have methods of the same name, such as better-sqlite3, whose `transaction` runs nothing.
  if (!hasMethod(client, method)) return null
  const options = engine === 'sqlite' ? { behavior: 'immediate' } : undefined
  return {
    begin: (work) => client.transaction(work, options),
    executeIn:
      (trx) =>
      (query, ...values) =>
        methodOf(trx, method)(inline(query, values, engine)),
  }
}

/** Returns whether a client is a Kysely with the same connections, such as one with other plugins. */
export function isCopyOf(client: object, kysely: AuthKysely): client is AuthKysely {
  if (!hasMethod(client, 'getExecutor') || isTransaction(client)) return false
  const { adapter }: { adapter?: unknown } = Object(client.getExecutor())
  return adapter === kysely.getExecutor().adapter
}

const isTransaction = (client: object) => Reflect.get(client, 'isTransaction') === true

/** Longer than the lock and the work may take together, after which Prisma rolls back. */
const PRISMA_OPTIONS = { maxWait: LOCK_TIMEOUT_MS, timeout: 2 * LOCK_TIMEOUT_MS }

type Method = (...values: unknown[]) => unknown

function hasMethod<Name extends string>(value: object, name: Name): value is Record<Name, Method> {
  return typeof Reflect.get(value, name) === 'function'
}

function methodOf(value: unknown, name: string): Method {
  const method: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  if (typeof method !== 'function') throw new TypeError(`The database client has no ${name}()`)
  return (...values) => Reflect.apply(method, value, values)
}

/**
 * Writes the values into the statement, since Drizzle's `sql` isn't imported. Escapes each character. In
 * PostgreSQL, a literal takes the type of its column, such as `uuid`. The result of a function wouldn't.
 */
function inline(query: TemplateStringsArray, values: readonly unknown[], engine: Engine): string {
  const write = (value: unknown) => {
    if (engine === 'postgres') return `e'${Array.from(String(value), escaped).join('')}'`
    const bytes = [...new TextEncoder().encode(String(value))]
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
    return `cast(x'${hex}' as text)`
  }
  return query.reduce((text, part, place) => `${text}${write(values[place - 1])}${part}`)
}

function escaped(character: string): string {
  return `\\U${character.codePointAt(0)?.toString(16).padStart(8, '0')}`
}
