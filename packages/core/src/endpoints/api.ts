import type * as z from 'zod'
import type { CurrentSessionResponse, SessionResponse, UserResponse } from '../protocol.ts'
import { clientAddress } from '../request/address.ts'
import type { Session, SessionUser } from '../session/session.ts'
import { callEndpoint, type EndpointRequest, type EndpointServer } from './call-endpoint.ts'
import type { CoreEndpoints } from './core-endpoints.ts'
import type { UserColumns } from './declared-columns.ts'
import type { AuthDefinition, AuthPlugin, Endpoints } from './definition.ts'
import type { Endpoint, EndpointResult } from './endpoint.ts'
import type { UpdateUserInput } from './own-user.ts'

/** On whose behalf a method of `auth.api` is called. */
export interface ApiOptions {
  /** The request at hand: its cookies or bearer token say who calls, and its origin has to be one that may. */
  readonly request: { readonly method: string; readonly headers: { get(name: string): string | null } }
  /**
   * The address of the connection, such as `socket.remoteAddress` or what the platform says. Rate limits count by it; all requests without one
   * are counted together.
   */
  readonly remoteAddress?: string | undefined
}

/** What a method of `auth.api` returns: the body of the endpoint and, where it may set cookies, the headers that do. */
export type ApiResult<Output, Sets> = Sets extends true ? Output & { readonly headers: Headers } : Output

/** The method of an endpoint. */
export type ApiMethod<Of> =
  Of extends Endpoint<infer Input, infer Output, infer Sets>
    ? (options: Input & ApiOptions) => Promise<ApiResult<Output, Sets>>
    : never

/** A method for every endpoint of a definition. */
export type Api<Plugins extends readonly AuthPlugin[] = readonly []> = {
  readonly [Name in keyof EndpointsOf<Plugins>]: ApiMethod<EndpointsOf<Plugins>[Name]>
}

/** The endpoints of core and of plugins, by name; those of core with the columns that the plugins add. */
export type EndpointsOf<Plugins extends readonly AuthPlugin[]> = Omit<
  CoreEndpoints,
  'getSession' | 'updateUser'
> & {
  readonly getSession: Endpoint<
    object,
    Omit<CurrentSessionResponse, 'user' | 'session'> & {
      user: UserResponse & ColumnsOf<Plugins>
      session: SessionResponse & SessionColumnsOf<Plugins>
    },
    false
  >
  readonly updateUser: Endpoint<
    UpdateUserInput & InputColumnsOf<Plugins>,
    { user: UserResponse & ColumnsOf<Plugins> },
    false
  >
} & Intersection<OwnEndpoints<Plugins[number]>>

type OwnEndpoints<Plugin> =
  Plugin extends AuthPlugin<infer Own> ? (string extends keyof Own ? never : Own) : never

type ColumnsOf<Plugins extends readonly AuthPlugin[]> = Intersection<OwnColumns<Plugins[number]>>

type OwnColumns<Plugin> =
  Plugin extends AuthPlugin<Endpoints, infer Columns>
    ? string extends keyof Columns
      ? never
      : { readonly [Name in keyof Columns]: z.infer<Columns[Name]['schema']> }
    : never

type SessionColumnsOf<Plugins extends readonly AuthPlugin[]> = Intersection<
  OwnSessionColumns<Plugins[number]>
>

type OwnSessionColumns<Plugin> =
  Plugin extends AuthPlugin<Endpoints, UserColumns, infer Columns>
    ? string extends keyof Columns
      ? never
      : { readonly [Name in keyof Columns]: z.infer<Columns[Name]['schema']> }
    : never

/** The user of a session, with the columns that a definition adds: `ctx.user`. */
export type UserOf<Definition extends AuthDefinition> = SessionUser & ColumnsOf<Definition['plugins']>

/** A session with its user and the columns that a definition adds: `ctx.session`. */
export type SessionOf<Definition extends AuthDefinition> = Omit<Session, 'user'> &
  SessionColumnsOf<Definition['plugins']> & { readonly user: UserOf<Definition> }

type InputColumnsOf<Plugins extends readonly AuthPlugin[]> = Intersection<OwnInputColumns<Plugins[number]>>

type OwnInputColumns<Plugin> =
  Plugin extends AuthPlugin<Endpoints, infer Columns>
    ? string extends keyof Columns
      ? never
      : {
          readonly [Name in keyof Columns as Columns[Name] extends { readonly input: true }
            ? Name
            : never]?: z.infer<Columns[Name]['schema']>
        }
    : never

/** A & B of A | B; of none, everything. */
type Intersection<Union> = [Union] extends [never]
  ? unknown
  : (Union extends unknown ? (value: Union) => void : never) extends (value: infer All) => void
    ? All
    : never

/** The request that a method is called for, as the endpoints see it. */
export function toEndpointRequest(
  { request, remoteAddress }: ApiOptions,
  { trustsProxy }: Pick<EndpointServer, 'trustsProxy'>,
): EndpointRequest {
  const header = (name: string) => request.headers.get(name)
  const address = clientAddress(remoteAddress ?? null, header('x-forwarded-for'), trustsProxy)
  return { method: request.method, header, address }
}

/** Makes a method for every endpoint. */
export function createApi<Plugins extends readonly AuthPlugin[]>(
  endpoints: Endpoints,
  server: EndpointServer,
): Api<Plugins> {
  const methods = Object.entries(endpoints).map(([name, endpoint]) => [
    name,
    async ({ request, remoteAddress, ...input }: ApiOptions) => {
      const endpointRequest = toEndpointRequest({ request, remoteAddress }, server)
      const result = await callEndpoint(endpoint, endpointRequest, () => given(input), server)
      return toApiResult(endpoint, result)
    },
  ])
  return Object.fromEntries(methods)
}

/** The input of a method: a member that is given as undefined is one that is not given. */
export function given(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}

/** What a method returns of what its endpoint answered. */
export function toApiResult({ setsCookies }: Endpoint, { body, cookies }: EndpointResult): object {
  return setsCookies ? { ...body, headers: toHeaders(cookies) } : body
}

/** Not a list of texts: a resolver that returns what it got would answer with the secrets in it. */
export function toHeaders(cookies: readonly string[] = []): Headers {
  const headers = new Headers()
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return headers
}
