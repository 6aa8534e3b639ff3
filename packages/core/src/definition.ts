import type { AuthConfig } from './config.ts'
import type { Migrations } from './database/migrations.ts'
import { ENDPOINT_ERRORS, type RefusalTable } from './endpoint-error.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { OWN_USER_COLUMNS, type UserColumns } from './endpoints/user-record.ts'
import { ConfigurationError } from './errors.ts'
import type { DefinePayload } from './jwt/issue-jwt.ts'
import { parseSigningKeys, type SigningKeys } from './keys/signing-keys.ts'
import { REASONS } from './protocol.ts'
import type { ChangeHook } from './session/session-database.ts'

/** Endpoints by the names of their methods on `auth.api`. */
export type Endpoints = Readonly<Record<string, Endpoint>>

/** A part of the auth definition that brings something of its own. */
export interface AuthPlugin<Own extends Endpoints = Endpoints, Columns extends UserColumns = UserColumns> {
  /** Letters, digits and dashes. Names the plugin's list of migrations in the database, so it stays as it is. */
  readonly id: string
  readonly endpoints?: Own
  /** Creates the tables and columns of the plugin, on every database alike. */
  readonly migrations?: Migrations
  /** Columns that its migrations add to the table `user`. */
  readonly userColumns?: Columns
  /** Tables of the plugin with a column `expiresAt`; their expired rows are pruned. */
  readonly expiringTables?: readonly string[]
  /** Takes part in every change of sessions and users, in its transaction. */
  readonly onChange?: ChangeHook
  /** The refusals of its endpoints; see {@link refusals}. */
  readonly reasons?: RefusalTable
}

/** What {@link defineAuth} takes. */
export interface AuthDefinitionOptions<Plugins extends readonly AuthPlugin[] = readonly AuthPlugin[]> {
  config: AuthConfig
  /**
   * The private keys: the variable `SIGNING_KEYS` that `sallyport keys create` makes, or the `signingKeys` of `openKeyFile`.
   */
  signingKeys: unknown
  /** Further claims for our JWTs, such as a tenant. Anyone who has the token can read them; ours cannot be overridden. */
  definePayload?: DefinePayload
  plugins?: Plugins
}

/** The auth definition with all its plugins. Heavy: no module that every procedure imports may reach it (spec section 1). */
export interface AuthDefinition<Plugins extends readonly AuthPlugin[] = readonly AuthPlugin[]> {
  readonly config: AuthConfig
  readonly signingKeys: SigningKeys
  readonly definePayload: DefinePayload
  readonly plugins: Plugins
}

/**
 * Brings the configuration, the private keys and the plugins together.
 *
 * @example export default defineAuth({ config: authConfig, signingKeys: env.SIGNING_KEYS, plugins: [emailPassword(), admin()] })
 * @throws ConfigurationError when the keys break the policy, or sign what the configuration's JWKS cannot verify; or when two
 * plugins claim one thing
 */
export function defineAuth<const Plugins extends readonly AuthPlugin[]>(
  options: AuthDefinitionOptions<Plugins> & { plugins: Plugins },
): AuthDefinition<Plugins>
export function defineAuth(options: Omit<AuthDefinitionOptions, 'plugins'>): AuthDefinition<readonly []>
export function defineAuth(options: AuthDefinitionOptions): AuthDefinition {
  const { config, signingKeys, definePayload = () => ({}), plugins = [] } = options
  const keys = isSigningKeys(signingKeys) ? signingKeys : parseSigningKeys(signingKeys)
  const verifier = config.issuers[0].jwks.findKey(keys.active.kid)
  // A set that has to be fetched is not waited for; whoever needs it is told of a failure.
  if (verifier instanceof Promise) verifier.catch(() => {})
  else if (verifier?.alg !== keys.active.alg) {
    throw new ConfigurationError(
      'SIGNING_KEYS: the key that signs is not in JWKS, so nobody could verify its tokens',
    )
  }
  for (const { id } of plugins) {
    if (!/^[A-Za-z0-9-]{1,40}$/.test(id) || id === 'sallyport')
      throw new ConfigurationError(`plugins: ${id} is no id of letters, digits and dashes`)
  }
  refuseRepeated(
    'the id',
    // In SQLite the names of tables do not differ by case.
    plugins.map(({ id }) => id.toLowerCase()),
  )
  refuseRepeated('the column', [
    ...OWN_USER_COLUMNS,
    ...plugins.flatMap(({ userColumns = {} }) => Object.keys(userColumns)),
  ])
  refuseRepeated(
    'the reason',
    [REASONS, ENDPOINT_ERRORS, ...plugins.map(({ reasons = {} }) => reasons)].flatMap((table) =>
      Object.keys(table),
    ),
  )
  return { config, signingKeys: keys, definePayload, plugins }
}

/** @throws ConfigurationError when two plugins claim one thing */
export function refuseRepeated(what: string, names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new ConfigurationError(`plugins: ${what} ${repeated} is claimed twice`)
}

function isSigningKeys(value: unknown): value is SigningKeys {
  return typeof value === 'object' && value !== null && 'active' in value && 'publicJwks' in value
}
