import { REASONS } from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { CallError, CallOutcome } from './call-outcome.ts'

/** The HTTP status of an outcome, for the logs of the listener: whoever called goes by what stands in it. */
export function statusOf(outcome: CallOutcome): number {
  return outcome.ok ? 200 : statusOfError(outcome.error)
}

function statusOfError(error: CallError): number {
  switch (error.kind) {
    case 'auth':
      return REASONS[error.reason].status
    case 'endpoint':
      return error.status
    case 'configuration':
      return 500
    case 'function':
      return getHTTPStatusCodeFromError(new TRPCError({ code: error.code }))
  }
}
