import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, type ErrorResponse, type Route } from '@sallyport/core/protocol'

/** What {@link createAuthClient} takes. */
export interface AuthClientOptions {
  /** Where the app is reached, such as `https://app.example.com`. @default '' (the page's own origin) */
  readonly baseUrl?: string
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch
}

/** The routes of endpoints that are not ours, by their names: those of further plugins. */
export type RoutesOf<Api> = {
  readonly [Name in Exclude<keyof Api, keyof typeof ENDPOINTS | 'createSession'>]: Route
}

/** Required where there are such endpoints. */
type RoutesOption<Api> = keyof RoutesOf<Api> extends never
  ? { readonly routes?: RoutesOf<Api> }
  : { readonly routes: RoutesOf<Api> }

/** The parts of an argument that only the server has. */
type ServerOptions = 'request' | 'remoteAddress'

/** The endpoints of an auth server as calls over HTTP. `createSession` is not one of them: no endpoint serves it. */
export type AuthClient<Api> = {
  readonly [Name in keyof Omit<Api, 'createSession'>]: ClientMethod<Api[Name]>
}

type ClientMethod<Method> = Method extends (options: infer Options) => Promise<infer Result>
  ? (...input: InputOf<Omit<Options, ServerOptions>>) => Promise<Omit<Result, 'headers'>>
  : never

/** An input without required members may be left out. */
type InputOf<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

/** A refusal of an auth endpoint, or an answer that was none of ours. */
export class AuthClientError extends Error {
  override readonly name = 'AuthClientError'
  /** A reason such as `RATE_LIMITED`, or `UNKNOWN` where what answered was no auth endpoint. */
  readonly code: string
  readonly status: number
  /** Names of the fields at fault, with `INVALID_INPUT`. */
  readonly fields: readonly string[]
  /** Seconds to wait before another attempt; null where waiting does not help. */
  readonly retryAfterSeconds: number | null

  constructor(status: number, { code, message, fields = [], retryAfterSeconds }: ErrorResponse) {
    super(message)
    this.status = status
    this.code = code
    this.fields = fields
    this.retryAfterSeconds = retryAfterSeconds ?? null
  }
}

/**
 * Calls the auth endpoints from a browser or another program, typed by the server's `auth.api`, of which only the type is imported.
 *
 * @example
 * import type { auth } from './auth-server.ts'
 * const client = createAuthClient<typeof auth.api>()
 * const { sessions } = await client.listSessions()
 * @throws AuthClientError from each call that is refused; what `fetch` throws where nobody answers
 */
export function createAuthClient<Api>(
  ...[options]: Record<never, never> extends RoutesOption<Api>
    ? [options?: AuthClientOptions & RoutesOption<Api>]
    : [options: AuthClientOptions & RoutesOption<Api>]
): AuthClient<Api> {
  const { baseUrl = '', routes, fetch = globalThis.fetch }: AnyOptions = options ?? {}
  const call = async ({ method, path }: Route, input: object = {}): Promise<unknown> => {
    const isQuery = method === 'GET'
    const response = await fetch(`${baseUrl}${AUTH_PATH}${path}${isQuery ? toQuery(input) : ''}`, {
      method,
      credentials: 'include',
      headers: { [CLIENT_HEADER]: '1', ...(!isQuery && { 'content-type': 'application/json' }) },
      ...(!isQuery && { body: JSON.stringify(input) }),
    })
    const body: unknown = await response.json().catch(() => null)
    if (response.ok && isObject(body)) return body
    throw new AuthClientError(response.status, isErrorResponse(body) ? body : NO_ANSWER)
  }
  const methods = Object.entries({ ...ENDPOINTS, ...routes }).map(([name, route]) => [
    name,
    (input?: object) => call(route, input),
  ])
  return Object.fromEntries(methods)
}

interface AnyOptions extends AuthClientOptions {
  readonly routes?: Readonly<Record<string, Route>>
}

const NO_ANSWER = { code: 'UNKNOWN', message: 'The answer is not one of an auth endpoint' }

function isObject(body: unknown): body is object {
  return typeof body === 'object' && body !== null
}

function isErrorResponse(body: unknown): body is ErrorResponse {
  if (!isObject(body) || !('code' in body) || !('message' in body)) return false
  return typeof body.code === 'string' && typeof body.message === 'string'
}

function toQuery(input: object): string {
  const entries = Object.entries(input).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return ''
  return `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)]))}`
}
