import type * as z from 'zod/mini'
import type { AuthConfig } from '../config.ts'
import { reportRejected } from '../events/report-failure.ts'
import type { TokenResponse } from '../protocol.ts'
import { clientAddress } from '../request/address.ts'
import type { AddedColumns, AddedValues } from '../session/added-columns.ts'
import type { Session, SessionUser } from '../session/session.ts'
import { callEndpoint, withTransport } from './call-endpoint.ts'
import type { CoreEndpoints } from './core-endpoints.ts'
import { createContext, type EndpointRequest, type EndpointServer } from './create-context.ts'
import type { UserColumns } from './declared-columns.ts'
import type { AuthDefinition, AuthPlugin, Endpoints } from './definition.ts'
import type { Endpoint, EndpointResult } from './endpoint.ts'
import { beginSession } from './issue-tokens.ts'
import { traceEndpoint } from './trace-endpoint.ts'

/** The request that a method of `auth.api` is called for. */
export interface ApiOptions {
  /** Its cookies or bearer token authenticate the caller, and its origin is checked. */
  readonly request: { readonly method: string; readonly headers: { get(name: string): string | null } }
  /** The address of the connection, for rate limits. All requests without one share a limit. */
  readonly remoteAddress?: string | undefined
}

/** The body of an endpoint's response and, if it can set cookies, the headers that set them. */
export type ApiResult<Output, Sets> = Sets extends true ? Output & { readonly headers: Headers } : Output

export type ApiMethod<Of> =
  Of extends Endpoint<infer Input, infer Output, infer Sets>
    ? (options: Input & ApiOptions) => Promise<ApiResult<Output, Sets>>
    : never

/** A method for every endpoint of a definition. */
export type Api<Plugins extends readonly AuthPlugin[] = readonly []> = {
  readonly [Name in keyof EndpointsOf<Plugins>]: ApiMethod<EndpointsOf<Plugins>[Name]>
}

export interface CreateSessionInput {
  /** A user who has just authenticated. */
  readonly userId: string
  /** If false, the cookies expire with the browser session, and the session after a day. @default true */
  readonly rememberMe?: boolean
  /**
   * The methods by which the user authenticated (RFC 8176), such as `pwd`. `otp` and `passkey` mean that the
   * user proved a second factor. @default none
   */
  readonly amr?: readonly string[]
  /** The authentication context class that an OpenID provider reported. @default null */
  readonly acr?: string | null
}

/** Methods of `auth.api` without an endpoint. The app's own code decides who may call them. */
export interface ServerApi {
  /**
   * Begins a session for a user who has authenticated elsewhere, such as with SAML. Add the returned headers,
   * which set the cookies, to the response.
   * @throws EndpointError `USER_NOT_FOUND` or `TOO_MANY_SESSIONS`
   * @throws AuthError `ACCOUNT_BANNED`, `COOKIE_CONFLICT`, `SESSIONS_UNAVAILABLE`, or `FACTOR_REQUIRED` with
   * a `challenge`, if the user has a second factor that `amr` doesn't name
   * @example
   * const { headers } = await auth.api.createSession({ userId, request })
   * headers.set('location', '/')
   * return new Response(null, { status: 302, headers })
   */
  createSession(options: CreateSessionInput & ApiOptions): Promise<ApiResult<TokenResponse, true>>
}

/** The endpoints of core and of the plugins, with the columns that the plugins add. */
export type EndpointsOf<Plugins extends readonly AuthPlugin[]> = CoreEndpoints<
  ColumnsOf<Plugins, 'userColumns'>,
  ColumnsOf<Plugins, 'sessionColumns'>,
  Intersection<Inputs<Declared<Plugins[number], 'userColumns'>>>
> &
  Intersection<Declared<Plugins[number], 'endpoints'>>

/** Declares added columns: an auth definition, or the `columns` of a store on another library's tables. */
export type ColumnSource = AuthDefinition | AddedColumns

// Editors and declarations show the members of a conditional type. Otherwise, they name it, with all plugins.

/** The type of `ctx.user`: the user of a session, with the columns that the source adds. */
export type UserOf<Source extends ColumnSource> = Source extends unknown
  ? SessionUser & AddedOf<Source, 'user'>
  : never

/** The type of `ctx.session`: a session with its user and the columns that the source adds. */
export type SessionOf<Source extends ColumnSource> = Source extends unknown
  ? Omit<Session, 'user'> & AddedOf<Source, 'session'> & { readonly user: UserOf<Source> }
  : never

type AddedOf<Source extends ColumnSource, Table extends 'user' | 'session'> = Source extends AuthDefinition
  ? ColumnsOf<Source['plugins'], `${Table}Columns`>
  : Source extends AddedColumns
    ? AddedValues<Source[Table]>
    : never

type ColumnsOf<
  Plugins extends readonly AuthPlugin[],
  Key extends 'userColumns' | 'sessionColumns',
> = Intersection<Values<Declared<Plugins[number], Key>>>

/** The declarations of plugins under a key; never if only the record type is known. */
type Declared<Plugin, Key extends keyof AuthPlugin> = Plugin extends AuthPlugin
  ? string extends keyof NonNullable<Plugin[Key]>
    ? never
    : NonNullable<Plugin[Key]>
  : never

type Values<Columns> = Columns extends UserColumns
  ? { readonly [Name in keyof Columns]: z.infer<Columns[Name]['schema']> }
  : never

type Inputs<Columns> = Columns extends UserColumns
  ? {
      readonly [Name in keyof Columns as Columns[Name] extends { readonly input: true }
        ? Name
        : never]?: z.infer<Columns[Name]['schema']>
    }
  : never

/** Turns A | B into A & B, and never into unknown. */
type Intersection<Union> = [Union] extends [never]
  ? unknown
  : (Union extends unknown ? (value: Union) => void : never) extends (value: infer All) => void
    ? All
    : never

export function toEndpointRequest(
  { request, remoteAddress }: ApiOptions,
  { trustsProxy }: Pick<EndpointServer, 'trustsProxy'>,
): EndpointRequest {
  const header = (name: string) => request.headers.get(name)
  const address = clientAddress(remoteAddress ?? null, header('x-forwarded-for'), trustsProxy)
  return { method: request.method, header, address }
}

export function createApi<Plugins extends readonly AuthPlugin[]>(
  endpoints: Endpoints,
  config: AuthConfig,
  connect: () => Promise<EndpointServer>,
): Api<Plugins> & ServerApi {
  const methods = Object.entries(endpoints).map(([name, endpoint]) => [
    name,
    ({ request, remoteAddress, ...input }: ApiOptions) => {
      const call = async () => {
        const server = await connect()
        const endpointRequest = toEndpointRequest({ request, remoteAddress }, server)
        const result = await callEndpoint(endpoint, endpointRequest, () => given(input), server)
        return toApiResult(endpoint, result)
      }
      const { method, path } = endpoint
      const traced = async () => traceEndpoint({ method, path, scheme: null }, config, call)
      return reportRejected(traced(), { path, step: 'endpoint' }, config)
    },
  ])
  const path = 'createSession'
  const createSession: ServerApi['createSession'] = ({ userId, rememberMe, amr, acr, ...options }) => {
    const begin = async () => {
      const server = await connect()
      const request = toEndpointRequest(options, server)
      const context = createContext({ origin: 'mutation', caller: 'anyone', path }, request, server)
      // The app knows whose browser this is: it may sign the user in on behalf of another system.
      const proof = { rememberMe, amr, acr, unknownBrowser: 'ignore' } as const
      const session = await beginSession(userId, context, proof)
      const { body, cookies } = withTransport(context, session)
      return { ...body, headers: toHeaders(cookies) }
    }
    return reportRejected(begin(), { path, step: 'endpoint' }, config)
  }
  return Object.assign(Object.fromEntries(methods), { createSession })
}

/** Drops undefined members, which strict schemas would reject. */
export function given(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}

export function toApiResult({ setsCookies }: Endpoint, { body, cookies }: EndpointResult): object {
  return setsCookies ? { ...body, headers: toHeaders(cookies) } : body
}

/** `Headers` serialize to nothing, so a resolver that returns its result doesn't leak the secrets in it. */
function toHeaders(cookies: readonly string[] = []): Headers {
  const headers = new Headers()
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return headers
}
