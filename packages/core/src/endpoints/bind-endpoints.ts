import type { AnyDatabase } from '../database/any-database.ts'
import { columnsOf, unreadColumns } from '../database/columns.ts'
import type { Identity } from '../jwt/identity.ts'
import { observed } from '../lifecycle/observed-database.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { safeListener } from '../protocol/safe-listener.ts'
import { trustProxies } from '../request/address.ts'
import { type ApiOptions, given, toEndpointRequest } from './api.ts'
import { callEndpoint, type EndpointServer } from './call-endpoint.ts'
import { coreEndpoints } from './core-endpoints.ts'
import {
  type AuthDefinition,
  type AuthPlugin,
  type Endpoints,
  refuseRepeated,
  requireSigningKeys,
} from './definition.ts'
import type { EndpointResult } from './endpoint.ts'

/** Calls an endpoint by its name, with the checks of a call over HTTP. */
export type EndpointCaller = (
  name: string,
  input: object,
  options: EndpointCallOptions,
) => Promise<EndpointResult>

/** On whose behalf an endpoint is called. */
export interface EndpointCallOptions extends ApiOptions {
  /** Whom Step 1 has proved for this request, as on a WebSocket, whose identity outlives its JWT. Step 2 is asked anew. */
  readonly identity?: Identity | undefined
}

/**
 * The endpoints of core and of the plugins, by the names of their methods on `auth.api`.
 *
 * @throws ConfigurationError when two of them have one name or one path
 */
export function endpointsOf({ plugins }: { readonly plugins: readonly AuthPlugin[] }): Endpoints {
  const owners = [{ ...coreEndpoints(plugins) }, ...plugins.map(({ endpoints = {} }) => endpoints)]
  const entries = owners.flatMap((endpoints): [string, Endpoints[string]][] => Object.entries(endpoints))
  refuseRepeated('the endpoint', [...entries.map(([name]) => name), 'createSession'])
  refuseRepeated(
    'the path',
    entries.map(([, { path }]) => path),
  )
  return Object.fromEntries(entries)
}

/**
 * What the endpoints of a definition share on a database.
 *
 * @throws ConfigurationError where the definition has no signing keys, or columns that the database was not opened with
 */
export function createEndpointServer(
  definition: AuthDefinition,
  database: AnyDatabase,
  onError: (error: unknown) => void,
): EndpointServer {
  const unread = unreadColumns(columnsOf(definition), database.columns)
  if (unread.length > 0) {
    throw new ConfigurationError(
      `The auth definition adds ${unread.join(', ')}, which Step 2 does not read: run \`sallyport generate\`, and open the database with { columns: authColumns }`,
    )
  }
  return {
    definition: { ...definition, signingKeys: requireSigningKeys(definition) },
    database: observed(database, definition),
    trustsProxy: trustProxies(definition.config.trustedProxies),
    onError,
  }
}

/**
 * Puts the endpoints of a definition to work on a database whose tables are up to date: the way to them that needs no `createAuth`.
 *
 * @throws ConfigurationError like `createAuth`
 */
export function bindEndpoints(
  definition: AuthDefinition,
  database: AnyDatabase,
  { onError = console.error }: { onError?: (error: unknown) => void } = {},
): EndpointCaller {
  const endpoints = endpointsOf(definition)
  const server = createEndpointServer(definition, database, safeListener(onError))
  return async (name, input, { identity, ...options }) => {
    const endpoint = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined
    if (endpoint === undefined) throw reject('NOT_FOUND')
    const request = { ...toEndpointRequest(options, server), identity }
    return callEndpoint(endpoint, request, () => given(input), server)
  }
}
