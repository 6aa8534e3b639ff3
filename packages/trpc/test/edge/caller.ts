// Runs on the edge, so nothing here may need Node.
import { defineAuthConfig, isAuthError, staticJwks } from '@sallyport/core'
import { httpRunner, type RunnerCall } from '@sallyport/trpc/action'
import { TRPCError } from '@trpc/server'

/** What an edge function uses instead of a database. */
export interface Settings {
  /** The internal handler's URL. */
  readonly url: string
  readonly baseUrl: string
  readonly jwks: string
  readonly signingKeys: string
  /** The clock, in milliseconds. */
  readonly now: () => number
}

/** Calls internal functions from the edge. Resolves to the result as JSON, or the reason of the rejection. */
export function createCaller({ url, baseUrl, jwks, signingKeys, now }: Settings) {
  const config = defineAuthConfig({ baseUrl, jwks: staticJwks(jwks), now: () => new Date(now()) })
  const runner = httpRunner({ url, config, service: { name: 'edge', signingKeys }, timeoutMs: 60_000 })
  return async (call: RunnerCall): Promise<string> => {
    try {
      return JSON.stringify(await runner.run(call)) ?? 'nothing'
    } catch (error) {
      if (isAuthError(error)) return error.reason
      return error instanceof TRPCError ? `${error.code} ${error.message}` : String(error)
    }
  }
}
