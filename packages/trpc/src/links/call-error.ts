import type { AuthErrorData } from '@sallyport/core/protocol'
import { TRPCClientError } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_NUMBER } from '@trpc/server/rpc'
import { type AuthClientError, isRefusal } from '../client/auth-client-error.ts'

/** What is read of an error of a call. Two copies of tRPC may be installed, so that its class says nothing. */
interface ErrorLike {
  readonly data?: { readonly httpStatus?: number; readonly auth?: AuthErrorData | null } | null | undefined
  readonly cause?: unknown
}

/** Why a guard of ours refused a call; empty where something else went wrong. */
export function authDataOf(error: unknown): Partial<AuthErrorData> {
  return (error as ErrorLike | null | undefined)?.data?.auth ?? {}
}

/** Whether an error is no answer, or none that lasts: the connection was lost, or a guard could not find out if the session counts. */
export function isOutage({ data, cause }: ErrorLike): boolean {
  return data ? (data.httpStatus ?? 0) > 501 : !(cause instanceof Error)
}

/** Whether waiting may help. */
export function isRetryable(error: AuthClientError): boolean {
  return !isRefusal(error) || error.code === 'UNKNOWN'
}

/** JSON-RPC's number of a refusal ends in the digits of its HTTP status. */
const NAMES: Readonly<Record<number, string>> = TRPC_ERROR_CODES_BY_NUMBER

/**
 * What a call fails with that the client itself gives up, in the shape of a refusal by the server: `data.auth` says why there is no new JWT,
 * and `cause` is what the auth client says. It is 499 `CLIENT_CLOSED_REQUEST` where the call belongs to a user who is no longer the one.
 *
 * @param refused the error that the call was refused with, where it was
 */
export function toCallError<Router extends AnyTRPCRouter>(
  cause: AuthClientError,
  refused?: TRPCClientError<Router>,
): TRPCClientError<Router> {
  const { message, retryAfterSeconds } = cause
  const auth = authDataOf(refused)
  let { status, code: reason } = cause
  let number = -31600 - status
  let name = NAMES[number]
  if (reason === 'REFRESH_LOOP') reason = auth.reason ?? reason
  else if (!name || reason === 'UNKNOWN') {
    number = -32603
    name = 'SERVICE_UNAVAILABLE'
    if (status !== 503 || reason === 'UNKNOWN') reason = 'SESSIONS_UNAVAILABLE'
    status = 503
  }
  const data = {
    ...refused?.data,
    code: name,
    httpStatus: status,
    auth: status === 499 ? null : { ...auth, reason, retryAfterSeconds },
  }
  return TRPCClientError.from({ error: { code: number, message, data } }, { cause })
}
