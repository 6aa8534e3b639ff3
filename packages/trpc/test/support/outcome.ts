import { REASONS, type Reason } from '@sallyport/core'
import type { RequiredProof } from '@sallyport/core/internal/protocol'
import { type AuthErrorData, authErrorData } from '@sallyport/trpc'
import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import * as z from 'zod'

/** How a call ended, as its caller sees it. */
export interface Outcome {
  /** What the resolver returned, or the first value of a subscription. */
  readonly data?: unknown
  /** Null if the call was accepted and its resolver succeeded. */
  readonly rejection: Rejection | null
}

/** An error as it reaches the client. */
export interface Rejection {
  readonly code: string
  readonly httpStatus: number
  readonly message: string
  readonly auth: AuthErrorData | null
}

const isReason = (value: unknown) => typeof value === 'string' && Object.hasOwn(REASONS, value)

const clientError = z.object({
  message: z.string(),
  data: z.object({
    code: z.string(),
    httpStatus: z.number(),
    auth: z
      .object({
        reason: z.custom<Reason>(isReason),
        retryAfterSeconds: z.nullable(z.number()),
        replay: z.boolean(),
        required: z.exactOptional(z.custom<RequiredProof>()),
      })
      .nullable(),
  }),
})

/** The call of a server-side caller that an error came from, as its `onError` received it. */
export const callerPaths = new WeakMap<TRPCError, string>()

/** Converts an error of the tRPC client or of a server-side caller. Rethrows any other error. */
export function toRejection(error: unknown): Rejection {
  if (error instanceof TRPCError) {
    const { code, message } = error
    const auth = authErrorData({ error, path: callerPaths.get(error) })
    return { code, message, httpStatus: getHTTPStatusCodeFromError(error), auth }
  }
  const parsed = clientError.safeParse(error)
  if (!parsed.success) throw error
  const { message, data } = parsed.data
  return { ...data, message }
}

/**
 * Returns the client's view of a reason.
 *
 * @param options.retryAfterSeconds @default 1 with 503, else null
 */
export function rejectionFor(
  reason: Reason,
  { replay, required, ...wait }: Partial<AuthErrorData> & { replay: boolean },
): Rejection {
  const { code, status, message } = REASONS[reason]
  const retryAfterSeconds = wait.retryAfterSeconds ?? (status === 503 ? 1 : null)
  const auth = { reason, retryAfterSeconds, replay, ...(required && { required }) }
  return { code, httpStatus: status, message, auth }
}

export async function outcomeOf(call: Promise<unknown>): Promise<Outcome> {
  try {
    return { data: await call, rejection: null }
  } catch (error) {
    return { rejection: toRejection(error) }
  }
}
