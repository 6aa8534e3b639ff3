import type { AuthErrorData } from '@sallyport/core/internal/protocol'
import { TRPCClientError } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_NUMBER } from '@trpc/server/rpc'
import type { AuthClientError } from '../client/auth-client-error.ts'

export type CallError = TRPCClientError<AnyTRPCRouter>

/** An error of tRPC's client. Not a class: two copies of tRPC may be installed. */
interface ErrorLike {
  readonly data?: { readonly httpStatus?: number; readonly auth?: AuthErrorData | null } | null | undefined
  readonly cause?: unknown
}

/** Returns the reason why the guard rejected a call; empty for any other error. */
export function authDataOf(error: unknown): Partial<AuthErrorData> {
  return (error as ErrorLike | null | undefined)?.data?.auth ?? {}
}

/** Returns whether the connection was lost, or the server temporarily couldn't respond. */
export function isOutage({ data, cause }: ErrorLike): boolean {
  return data ? (data.httpStatus ?? 0) > 501 : !(cause instanceof Error)
}

const NO_REASON = [
  'authLink: the server rejected a call with 401, and the error has no `data.auth`. Without it, the client',
  'cannot refresh an expired JWT. Where the server calls `initTRPC`, add `authErrorData` of @sallyport/trpc:',
  '  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),',
].join('\n')

/** Links that have warned. */
const warned = new WeakSet<object>()

/** Warns once per client, in development, if a rejection lacks the data of `authErrorData`. */
export function warnOfFormatter(client: object, error: unknown): void {
  try {
    // Written so bundlers can replace the expression and drop the rest from production code.
    if (process.env.NODE_ENV !== 'production') {
      const { data }: ErrorLike = Object(error)
      // With the formatter, the app's own errors have `auth: null`.
      if (warned.has(client) || data?.httpStatus !== 401 || 'auth' in data) return
      warned.add(client)
      console.warn(NO_REASON)
    }
  } catch {
    // Browsers have no `process`.
  }
}

/** Returns the error of a call that the client ends, in the shape of a rejection by the server. */
export function toCallError(cause: AuthClientError, rejected?: CallError): CallError {
  const auth = authDataOf(rejected)
  let { status, code: reason } = cause
  // The JSON-RPC number of a rejection ends in its HTTP status.
  let number = -31600 - status
  const names: Readonly<Record<number, string>> = TRPC_ERROR_CODES_BY_NUMBER
  let name = names[number]
  if (reason === 'REFRESH_LOOP') reason = auth.reason ?? reason
  else if (!name || reason === 'UNKNOWN') {
    number = -32603
    name = 'SERVICE_UNAVAILABLE'
    if (!/UNAVAILABLE/.test(reason)) reason = 'SESSIONS_UNAVAILABLE'
    status = 503
  }
  const data = {
    ...rejected?.data,
    code: name,
    httpStatus: status,
    auth: status === 499 ? null : { ...auth, reason, retryAfterSeconds: cause.retryAfterSeconds },
  }
  return TRPCClientError.from({ error: { code: number, message: cause.message, data } }, { cause })
}
