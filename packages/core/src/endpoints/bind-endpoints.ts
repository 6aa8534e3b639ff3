import type { AnyDatabase } from '../database/database.ts'
import { unreadColumns } from '../database/schema/columns.ts'
import { reportRejected } from '../events/report-failure.ts'
import type { Identity } from '../jwt/identity.ts'
import { observed } from '../lifecycle/observed-database.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { proxyTrustOf } from '../request/address.ts'
import { type ApiOptions, given, toEndpointRequest } from './api.ts'
import { callEndpoint } from './call-endpoint.ts'
import { coreEndpoints } from './core-endpoints.ts'
import type { EndpointServer } from './create-context.ts'
import { type AuthDefinition, type Endpoints, rejectRepeated, requireSigningKeys } from './definition.ts'
import type { EndpointResult } from './endpoint.ts'
import { traceEndpoint } from './trace-endpoint.ts'

/** Calls an endpoint by its name, with the checks of a call over HTTP. */
export type EndpointCaller = (
  name: string,
  input: object,
  options: EndpointCallOptions,
) => Promise<EndpointResult>

export interface EndpointCallOptions extends ApiOptions {
  /** Replaces Step 1, as on a WebSocket, whose identity outlives its JWT. Step 2 still runs. */
  readonly identity?: Identity | undefined
}

/** Collects the endpoints by name. @throws ConfigurationError if two have the same name or path */
export function endpointsOf({ plugins }: Pick<AuthDefinition, 'plugins'>): Endpoints {
  const owners = [{ ...coreEndpoints(plugins) }, ...plugins.map(({ endpoints = {} }) => endpoints)]
  const entries = owners.flatMap((endpoints): [string, Endpoints[string]][] => Object.entries(endpoints))
  rejectRepeated('the endpoint', [...entries.map(([name]) => name), 'createSession'])
  const paths = entries.map(([, { path }]) => path)
  rejectRepeated('the path', paths)
  return Object.fromEntries(entries)
}

/** @throws ConfigurationError with the first setting that a plugin misses */
export function requireSettings(definition: AuthDefinition): void {
  for (const { missingSetting } of definition.plugins) {
    const message = missingSetting?.(definition) ?? null
    if (message !== null) throw new ConfigurationError(message)
  }
}

/**
 * @throws ConfigurationError if signing keys or a setting of a plugin are missing, or Step 2 doesn't read an
 * added column
 */
export function createEndpointServer(definition: AuthDefinition, database: AnyDatabase): EndpointServer {
  if (definition.config.sessionCookie !== undefined)
    throw new ConfigurationError(
      'sessionCookie is set, so another library signs users in. Remove it from the configuration of these endpoints.',
    )
  requireSettings(definition)
  const unread = unreadColumns(definition, database.columns)
  if (unread !== null) throw new ConfigurationError(`${unread.problem} ${unread.fix}`)
  return {
    definition: { ...definition, signingKeys: requireSigningKeys(definition) },
    database: observed(database, definition),
    trustsProxy: proxyTrustOf(definition.config),
  }
}

/** Creates a caller, on a database with migrated tables. @throws ConfigurationError like `createAuth` */
export function bindEndpoints(definition: AuthDefinition, database: AnyDatabase): EndpointCaller {
  const endpoints = endpointsOf(definition)
  const server = createEndpointServer(definition, database)
  return async (name, input, { identity, ...options }) => {
    const endpoint = Object.hasOwn(endpoints, name) ? endpoints[name] : undefined
    if (endpoint === undefined) throw reject('NOT_FOUND')
    const request = { ...toEndpointRequest(options, server), identity }
    const { method, path } = endpoint
    const result = traceEndpoint({ method, path, scheme: null }, definition.config, () =>
      callEndpoint(endpoint, request, () => given(input), server),
    )
    return reportRejected(result, { path, step: 'endpoint' }, definition.config)
  }
}
