import { isAuthError } from '../protocol/errors.ts'
import type { EndpointContext } from './endpoint.ts'

/** Returns a handler of errors that records the sign-in of a banned user. */
export function recordBan(
  findUserId: () => Promise<string | null>,
  { change, config, address }: EndpointContext,
): (error: unknown) => Promise<never> {
  return async (error) => {
    if (isAuthError(error) && error.reason === 'ACCOUNT_BANNED') {
      const failure = { at: config.now(), userId: await findUserId(), reason: error.reason, address } as const
      await change(async (_trx, record) => record({ type: 'sign-in.failed', ...failure }))
    }
    throw error
  }
}
