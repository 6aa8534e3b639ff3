import * as z from 'zod/mini'
import type { AuthConfig } from '../config.ts'
import type { Migrations } from '../database/schema/migrations.ts'
import type { ChangeHook } from '../database/session-database.ts'
import type { DefinePayload } from '../jwt/issue-jwt.ts'
import { type EncryptionKeys, readEncryptionKeys } from '../keys/encryption-keys.ts'
import { readSigningKeys } from '../keys/read-signing-keys.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { ENDPOINT_ERRORS, type RejectionTable } from '../protocol/endpoint-error.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { REASONS } from '../protocol.ts'
import type { SessionColumns, UserColumns } from './declared-columns.ts'
import type { BrowserMemory, CanSignIn, Endpoint, SecondFactor } from './endpoint.ts'
import { sessionFields } from './plain-schemas.ts'
import { userFields } from './user-record.ts'

/** Endpoints by the names of their methods on `auth.api`. */
export type Endpoints = Readonly<Record<string, Endpoint>>

/** A part of the auth definition with endpoints, tables, columns, or hooks. */
export interface AuthPlugin<
  Own extends Endpoints = Endpoints,
  OfUser extends UserColumns = UserColumns,
  OfSession extends SessionColumns = SessionColumns,
> {
  /** Letters, digits, and dashes. Names the plugin's migrations in the database, so never change it. */
  readonly id: string
  readonly endpoints?: Own
  /** Creates the tables of the plugin and the indexes of its columns. */
  readonly migrations?: Migrations
  /** Columns of the table `user` and members of `ctx.user`. They exist before the migrations run. */
  readonly userColumns?: OfUser
  /** Columns of the table `session` and members of `ctx.session`. They exist before the migrations run. */
  readonly sessionColumns?: OfSession
  /** Tables with columns `id` and `expiresAt`, whose expired rows are pruned. */
  readonly expiringTables?: readonly string[]
  /** Runs in the transaction of every change of sessions and users. */
  readonly onChange?: ChangeHook
  readonly reasons?: RejectionTable
  /** A user can't remove their last way to sign in: a plugin that removes one asks all plugins. */
  readonly canSignIn?: CanSignIn
  /** A factor that a sign-in must prove too, if the user has it. */
  readonly secondFactor?: SecondFactor
  /** Remembers the browsers that sign in, by any plugin. */
  readonly browsers?: BrowserMemory
  /**
   * Returns the message of an error if a setting is missing, else null. `createAuth` throws it, and
   * `sallyport doctor` reports it. Don't throw while modules load: a build has no secrets.
   */
  readonly missingSetting?: (definition: Pick<AuthDefinition, 'encryptionKeys'>) => string | null
}

/** The app's own columns and hook, as the last plugin of its definition. */
export type AppPlugin<OfUser extends UserColumns, OfSession extends SessionColumns> = AuthPlugin<
  Record<never, never>,
  OfUser,
  OfSession
>

export interface AuthDefinitionOptions<
  Plugins extends readonly AuthPlugin[] = readonly AuthPlugin[],
  OfUser extends UserColumns = UserColumns,
  OfSession extends SessionColumns = SessionColumns,
> {
  config: AuthConfig
  /**
   * `SIGNING_KEYS`, or the `signingKeys` of `openKeyFile`; or a function that returns them when a token is
   * first signed. Undefined in a process without a database.
   */
  signingKeys: unknown
  /**
   * `ENCRYPTION_KEYS`, with which plugins encrypt secrets in the database: 32 random bytes in base64. To
   * rotate, put a new key before the former ones, with a comma. The first encrypts, and all decrypt.
   * @default none: a plugin that needs keys throws
   */
  encryptionKeys?: string | undefined
  /** Adds claims to JWTs, such as a tenant. Never overrides ours. Anyone with the token can read them. */
  definePayload?: DefinePayload
  plugins?: Plugins
  user?: { readonly additionalFields: OfUser }
  session?: { readonly additionalFields: OfSession }
  hooks?: {
    /** Runs in the transaction of every change, after the plugins. If it throws, the change is undone. */
    readonly onChange?: ChangeHook
  }
  /**
   * Gets the promise of work after a response, such as an email, for a platform that then stops or freezes
   * the process: `after` of `next/server.js`, or `waitUntil` of `@vercel/functions` or `cloudflare:workers`.
   * @default none: the process goes on
   */
  waitUntil?: (work: Promise<unknown>) => unknown
}

/** Heavy: no module that every procedure imports may reach it (`docs/boundary.md`). */
export interface AuthDefinition<Plugins extends readonly AuthPlugin[] = readonly AuthPlugin[]> {
  readonly config: AuthConfig
  /** Null in a process that never issues tokens. */
  readonly signingKeys: SigningKeys | null
  /** Null without `ENCRYPTION_KEYS`. */
  readonly encryptionKeys: EncryptionKeys | null
  readonly definePayload: DefinePayload
  /** Last is the {@link AppPlugin}. */
  readonly plugins: Plugins
  readonly waitUntil: AuthDefinitionOptions['waitUntil']
}

/**
 * Defines the auth of an app.
 * @example
 * export default defineAuth({
 *   config: authConfig,
 *   signingKeys: env.SIGNING_KEYS,
 *   plugins: [emailPassword(), admin()],
 *   user: { additionalFields: { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } } },
 * })
 * @throws ConfigurationError if the keys are invalid or don't match the JWKS, two plugins claim the same
 * name, a reason has no status of an error, or a column has neither a default nor a nullable schema
 */
export function defineAuth<
  const Plugins extends readonly AuthPlugin[] = readonly [],
  const OfUser extends UserColumns = Record<never, never>,
  const OfSession extends SessionColumns = Record<never, never>,
>(
  options: AuthDefinitionOptions<Plugins, OfUser, OfSession>,
): AuthDefinition<readonly [...Plugins, AppPlugin<OfUser, OfSession>]>
export function defineAuth(options: AuthDefinitionOptions): AuthDefinition {
  const { config, signingKeys, definePayload = () => ({}), user, session, hooks, waitUntil } = options
  const own: AuthPlugin = {
    id: 'app',
    ...(user !== undefined && { userColumns: user.additionalFields }),
    ...(session !== undefined && { sessionColumns: session.additionalFields }),
    ...(hooks?.onChange !== undefined && { onChange: hooks.onChange }),
  }
  const plugins = [...(options.plugins ?? []), own]
  const encryptionKeys = readEncryptionKeys(options.encryptionKeys)
  checkPlugins(plugins)
  const rest = { config, encryptionKeys, definePayload, plugins, waitUntil }
  if (typeof signingKeys !== 'function') return { ...rest, signingKeys: readSigningKeys(signingKeys, config) }
  let keys: SigningKeys | null = null
  return {
    ...rest,
    get signingKeys() {
      keys ??= readSigningKeys(signingKeys(), config)
      return keys
    },
  }
}

export function requireSigningKeys({ signingKeys }: Pick<AuthDefinition, 'signingKeys'>): SigningKeys {
  if (signingKeys !== null) return signingKeys
  throw new ConfigurationError(
    'SIGNING_KEYS is not set. A process with a database must be able to sign tokens. Load the variable, or run "npx sallyport keys create".',
  )
}

/** Columns that plugins may not add: the ones that exist, and the members of a response. */
const OWN_USER_COLUMNS = [...Object.keys(userFields), 'banned', 'banReason', 'banExpires', 'updatedAt']
const OWN_SESSION_COLUMNS = [
  ...Object.keys(sessionFields),
  ...['token', 'userId', 'user', 'ipAddress', 'userAgent', 'remembered', 'previousToken', 'rotatedAt'],
  ...['tokenFamily', 'version', 'provedVersion', 'issuer', 'acr', 'updatedAt', 'ban'],
]

function checkPlugins(plugins: readonly AuthPlugin[]): void {
  const ids = plugins.map(({ id }) => id)
  for (const id of ids.slice(0, -1)) {
    if (!/^[A-Za-z0-9-]{1,40}$/.test(id) || id === 'sallyport')
      throw new ConfigurationError(`plugins: ${id} isn't a valid id. Use letters, digits, and dashes.`)
  }
  const ofUser = plugins.flatMap(({ userColumns = {} }) => Object.entries(userColumns))
  const ofSession = plugins.flatMap(({ sessionColumns = {} }) => Object.entries(sessionColumns))
  const reasons = [REASONS, ENDPOINT_ERRORS, ...plugins.map(({ reasons = {} }) => reasons)]
  rejectRepeated('the reason', reasons.flatMap(Object.keys))
  for (const [code, { status }] of plugins.flatMap(({ reasons = {} }) => Object.entries(reasons)))
    if (!(Number.isInteger(status) && status >= 400 && status < 600))
      throw new ConfigurationError(`plugins: the reason ${code} has the status ${status}. Use 400 to 599.`)
  // SQLite ignores the case of names.
  const ignoreCase = { ignoreCase: true }
  rejectRepeated('the id', ids, ignoreCase)
  rejectRepeated('the column', [...OWN_USER_COLUMNS, ...ofUser.map(([name]) => name)], ignoreCase)
  rejectRepeated('the column', [...OWN_SESSION_COLUMNS, ...ofSession.map(([name]) => name)], ignoreCase)
  for (const [name, { schema, default: initial = null }] of [...ofUser, ...ofSession]) {
    // An object with a `then` is taken for a promise, and every object has a `constructor`.
    if (!/^[A-Za-z][A-Za-z0-9_]{0,62}$/.test(name) || name === 'then' || name in Object.prototype)
      throw new ConfigurationError(
        `plugins: ${name} isn't a column name. Use letters, digits, and underscores, and not a name such as "then" or "constructor"`,
      )
    if (!z.safeParse(schema, initial).success)
      throw new ConfigurationError(
        `plugins: the column ${name} starts as ${JSON.stringify(initial)}, which its schema rejects. Give it a default, or make the schema nullable()`,
      )
  }
}

export function rejectRepeated(
  what: string,
  names: readonly string[],
  { ignoreCase = false }: { ignoreCase?: boolean } = {},
): void {
  const keys = ignoreCase ? names.map((name) => name.toLowerCase()) : names
  const repeated = names.find((_name, index) => keys.indexOf(keys[index] ?? '') !== index)
  if (repeated !== undefined)
    throw new ConfigurationError(`plugins: ${what} ${repeated} is claimed twice. Rename one.`)
}
