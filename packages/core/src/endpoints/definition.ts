import type { AuthConfig } from '../config.ts'
import type { Migrations } from '../database/migrations.ts'
import type { ChangeHook } from '../database/session-database.ts'
import type { DefinePayload } from '../jwt/issue-jwt.ts'
import { isSigningKeys, parseSigningKeys, type SigningKeys } from '../keys/signing-keys.ts'
import { ENDPOINT_ERRORS, type RejectionTable } from '../protocol/endpoint-error.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { REASONS } from '../protocol.ts'
import {
  OWN_SESSION_COLUMNS,
  OWN_USER_COLUMNS,
  type SessionColumn,
  type SessionColumns,
  type UserColumns,
} from './declared-columns.ts'
import type { Endpoint } from './endpoint.ts'

/** Endpoints by the names of their methods on `auth.api`. */
export type Endpoints = Readonly<Record<string, Endpoint>>

/** A part of the auth definition that brings something of its own. */
export interface AuthPlugin<
  Own extends Endpoints = Endpoints,
  OfUser extends UserColumns = UserColumns,
  OfSession extends SessionColumns = SessionColumns,
> {
  /** Letters, digits and dashes. Names the plugin's list of migrations in the database, so it stays as it is. */
  readonly id: string
  readonly endpoints?: Own
  /** Creates the tables of the plugin and the indexes of its columns, on every database alike. */
  readonly migrations?: Migrations
  /** Columns of the table `user`, which are there before its migrations run; `ctx.user` has them. */
  readonly userColumns?: OfUser
  /** Columns of the table `session`, alike; `ctx.session` has them. */
  readonly sessionColumns?: OfSession
  /** Tables of the plugin with a column `expiresAt`; their expired rows are pruned. */
  readonly expiringTables?: readonly string[]
  /** Takes part in every change of sessions and users, in its transaction. */
  readonly onChange?: ChangeHook
  /** The refusals of its endpoints; see {@link rejections}. */
  readonly reasons?: RejectionTable
}

/** What the app itself adds, as the last plugin of its definition. */
export type AppPlugin<
  OfUser extends UserColumns = UserColumns,
  OfSession extends SessionColumns = SessionColumns,
> = AuthPlugin<Record<never, never>, OfUser, OfSession>

/** What {@link defineAuth} takes. */
export interface AuthDefinitionOptions<
  Plugins extends readonly AuthPlugin[] = readonly AuthPlugin[],
  OfUser extends UserColumns = UserColumns,
  OfSession extends SessionColumns = SessionColumns,
> {
  config: AuthConfig
  /**
   * The private keys: the variable `SIGNING_KEYS` that `sallyport keys create` makes, or the `signingKeys` of `openKeyFile`. Undefined in
   * a process that has no database and so issues no tokens.
   */
  signingKeys: unknown
  /** Further claims for our JWTs, such as a tenant. Anyone who has the token can read them; ours cannot be overridden. */
  definePayload?: DefinePayload
  plugins?: Plugins
  /** Columns of the app's own in the table `user`. */
  user?: { readonly additionalFields: OfUser }
  /** Columns of the app's own in the table `session`. */
  session?: { readonly additionalFields: OfSession }
  hooks?: {
    /** Takes part in every change, in its transaction, after the plugins; what it throws undoes the change. */
    readonly onChange?: ChangeHook
  }
}

/** The auth definition with all its plugins. Heavy: no module that every procedure imports may reach it (spec section 1). */
export interface AuthDefinition<Plugins extends readonly AuthPlugin[] = readonly AuthPlugin[]> {
  readonly config: AuthConfig
  /** Null in a process that issues no tokens. */
  readonly signingKeys: SigningKeys | null
  readonly definePayload: DefinePayload
  /** The plugins, and last what the app adds itself. */
  readonly plugins: Plugins
}

/** The id under which the app's own columns and hook are kept. */
const APP = 'app'

/**
 * Brings the configuration, the private keys and the plugins together.
 *
 * @example
 * export default defineAuth({
 *   config: authConfig,
 *   signingKeys: env.SIGNING_KEYS,
 *   plugins: [emailPassword(), admin()],
 *   user: { additionalFields: { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } } },
 * })
 * @throws ConfigurationError when the keys break the policy, or sign what the configuration's JWKS cannot verify; when two
 * plugins claim one thing; or when a column has neither a default nor a schema that takes null
 */
export function defineAuth<
  const Plugins extends readonly AuthPlugin[] = readonly [],
  const OfUser extends UserColumns = Record<never, never>,
  const OfSession extends SessionColumns = Record<never, never>,
>(
  options: AuthDefinitionOptions<Plugins, OfUser, OfSession>,
): AuthDefinition<readonly [...Plugins, AppPlugin<OfUser, OfSession>]>
export function defineAuth(options: AuthDefinitionOptions): AuthDefinition {
  const { config, signingKeys, definePayload = () => ({}), user, session, hooks } = options
  const own: AppPlugin = {
    id: APP,
    ...(user !== undefined && { userColumns: user.additionalFields }),
    ...(session !== undefined && { sessionColumns: session.additionalFields }),
    ...(hooks?.onChange !== undefined && { onChange: hooks.onChange }),
  }
  const plugins = [...(options.plugins ?? []), own]
  checkPlugins(plugins)
  return { config, signingKeys: readKeys(signingKeys, config), definePayload, plugins }
}

function readKeys(signingKeys: unknown, config: AuthConfig): SigningKeys | null {
  if (signingKeys === undefined) return null
  const keys = isSigningKeys(signingKeys) ? signingKeys : parseSigningKeys(signingKeys)
  const verifier = config.issuers[0].jwks.findKey(keys.active.kid)
  // A set that has to be fetched is not waited for; whoever needs it is told of a failure.
  if (verifier instanceof Promise) verifier.catch(() => {})
  else if (verifier?.alg !== keys.active.alg) {
    throw new ConfigurationError(
      'SIGNING_KEYS: the key that signs is not in JWKS. Set both from the same run of "sallyport keys"',
    )
  }
  return keys
}

/**
 * The keys that sign.
 *
 * @throws ConfigurationError where a definition has none
 */
export function requireSigningKeys({ signingKeys }: Pick<AuthDefinition, 'signingKeys'>): SigningKeys {
  if (signingKeys !== null) return signingKeys
  throw new ConfigurationError(
    'SIGNING_KEYS is not set. A process with a database must be able to sign tokens: load the variable, or run "npx sallyport keys create"',
  )
}

function checkPlugins(plugins: readonly AuthPlugin[]): void {
  for (const { id } of plugins.slice(0, -1)) {
    if (!/^[A-Za-z0-9-]{1,40}$/.test(id) || id === 'sallyport')
      throw new ConfigurationError(`plugins: ${id} is no id of letters, digits and dashes`)
  }
  refuseRepeated(
    'the id',
    // In SQLite the names of tables do not differ by case.
    plugins.map(({ id }) => id.toLowerCase()),
  )
  const ofUser = plugins.flatMap(({ userColumns = {} }) => Object.entries(userColumns))
  const ofSession = plugins.flatMap(({ sessionColumns = {} }) => Object.entries(sessionColumns))
  refuseRepeatedColumn(OWN_USER_COLUMNS, ofUser)
  refuseRepeatedColumn(OWN_SESSION_COLUMNS, ofSession)
  refuseRepeated(
    'the reason',
    [REASONS, ENDPOINT_ERRORS, ...plugins.map(({ reasons = {} }) => reasons)].flatMap((table) =>
      Object.keys(table),
    ),
  )
  for (const [name, column] of [...ofUser, ...ofSession]) checkColumn(name, column)
}

/** In SQLite the names of columns do not differ by case. */
function refuseRepeatedColumn(own: readonly string[], added: readonly (readonly [string, unknown])[]): void {
  const lowerCase = own.map((name) => name.toLowerCase())
  const repeated = added.find(([name], index) => {
    const others = [...lowerCase, ...added.slice(0, index).map(([other]) => other.toLowerCase())]
    return others.includes(name.toLowerCase())
  })
  if (repeated !== undefined)
    throw new ConfigurationError(`plugins: the column ${repeated[0]} is claimed twice`)
}

function checkColumn(name: string, { schema, default: initial }: SessionColumn): void {
  // An object with a `then` is taken for a promise, and `__proto__` is no member.
  if (!/^[A-Za-z][A-Za-z0-9_]{0,62}$/.test(name) || name === 'then')
    throw new ConfigurationError(
      `plugins: ${name} is no name for a column: use letters, digits and underscores, and not then`,
    )
  const value = initial ?? null
  if (!schema.safeParse(value).success)
    throw new ConfigurationError(
      `plugins: the column ${name} holds ${JSON.stringify(value)} until something is written to it, which its schema refuses: give it a default, or make the schema nullable()`,
    )
}

/** @throws ConfigurationError when two plugins claim one thing */
export function refuseRepeated(what: string, names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new ConfigurationError(`plugins: ${what} ${repeated} is claimed twice`)
}
