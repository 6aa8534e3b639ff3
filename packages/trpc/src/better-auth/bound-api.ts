import { type AuthConfig, AuthError, ConfigurationError } from '@sallyport/core'
import { authStore, readCredentials } from '@sallyport/core/internal/server'
import { type AuthHandle, authCall, authRequest } from '../server/auth-handle.ts'
import { boundMethods } from '../server/bound-methods.ts'
import type { AuthContext } from '../server/context.ts'
import { reportError, toTRPCError, withStatus } from '../server/errors.ts'
import { callerHeaders } from './caller-headers.ts'
import { memberOf } from './member.ts'
import { passCookies, readSessionCookie } from './response-cookies.ts'
import type { BetterAuthSource } from './source.ts'

/** `auth.api` of Better Auth, bound to one request: its methods don't take `headers`, and return the body. */
export type BoundBetterAuthApi<Api> = {
  readonly [Name in keyof Api]: Api[Name] extends (...input: infer Inputs) => infer Output
    ? BoundMethod<CallerInput<NonNullable<Inputs[0]>>, Output>
    : never
}

type CallerInput<Input> = Omit<
  Input,
  'headers' | 'request' | 'asResponse' | 'returnHeaders' | 'returnStatus' | 'use' | 'context' | 'path'
>

type BoundMethod<Input, Output> = object extends Input ? (input?: Input) => Output : (input: Input) => Output

/** Creates `guard.getAuth`. */
export function createGetAuth<Api extends object>(
  api: Api,
  source: BetterAuthSource,
  config: AuthConfig,
): (ctx: AuthContext) => { readonly api: BoundBetterAuthApi<Api> } {
  const methods = Object.entries(api).flatMap(([name, endpoint]) => {
    if (typeof endpoint !== 'function') return []
    const bind = (auth: AuthHandle) => (input?: object) =>
      call(endpoint, { name, input, auth, source, config })
    return [[name, bind] as const]
  })
  const apiFor = boundMethods(methods)
  return (ctx) => ({ api: apiFor(ctx.auth) as BoundBetterAuthApi<Api> })
}

interface Call {
  readonly name: string
  readonly input: object | undefined
  readonly auth: AuthHandle
  readonly source: BetterAuthSource
  readonly config: AuthConfig
}

interface Result {
  /** Absent if a hook has replaced the response or an error. */
  readonly headers: Headers | null | undefined
  readonly response: unknown
}

type Endpoint = (input: object) => Promise<Result>

async function call(endpoint: Endpoint, { name, input, auth, source, config }: Call): Promise<unknown> {
  const { request } = auth[authRequest]
  auth[authRequest].markChecked()
  const sent = await source
    .load()
    .then((context) => callerHeaders(request, auth[authCall].kind, { config, context }))
    .catch((error) => {
      throw reportError(toTRPCError(error), { path: name, step: 'endpoint' }, config)
    })
  const { headers, response } = await endpoint({ ...input, headers: sent, returnHeaders: true }).catch(
    (error) => rethrow(error, { name, auth, config }),
  )
  if (!headers) return response
  if (request.setsHeaders) passCookies(headers, request, config)
  else if (losesSession(headers, { auth, source, config }))
    throw new ConfigurationError(
      `auth.api.${name}() has created a session, but its cookie can't be sent over a WebSocket, in a stream, or from a render. Call it in a mutation over HTTP without streaming (httpBatchLink), or with Better Auth's client.`,
    )
  return response
}

/** Returns whether a response sets a new session cookie that the client won't get. */
function losesSession(
  headers: Headers,
  { auth, source, config }: Pick<Call, 'auth' | 'source' | 'config'>,
): boolean {
  const cookie = readSessionCookie(headers, source)
  if (!cookie || cookie === readCredentials(auth[authRequest].request.header, config).token) return false
  // Plugins such as `nextCookies` set the cookies of a server action.
  const setsCookies = (source.auth.options.plugins ?? []).some(({ id }) => id.endsWith('-cookies'))
  return auth.transport !== 'headers' || !setsCookies
}

/** Rethrows an error with its status, because tRPC responds to unknown errors with 500. */
async function rethrow(
  error: unknown,
  { name, auth, config }: Pick<Call, 'name' | 'auth' | 'config'>,
): Promise<never> {
  if (!(error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number')) throw error
  const { request, ownDb } = auth[authRequest]
  // Most methods throw the same error for an outage.
  if (ownDb && isSessionMissing(error) && readCredentials(request.header, config).token !== null) {
    const reason: unknown = await auth[authRequest]
      .authenticateFresh(ownDb[authStore], auth[authCall].kind)
      .then(
        () => new AuthError('SESSIONS_UNAVAILABLE', { cause: error }),
        (reason) => reason,
      )
    throw reportError(toTRPCError(reason), { path: name, step: 'endpoint' }, config)
  }
  throw withStatus(error.statusCode, error)
}

/** Returns whether Better Auth found no session, or couldn't read it. */
function isSessionMissing(error: Error): boolean {
  const code = memberOf(error, 'body', 'code')
  return code === 'FAILED_TO_GET_SESSION' || (code === 'UNAUTHORIZED' && error.message === 'Unauthorized')
}
