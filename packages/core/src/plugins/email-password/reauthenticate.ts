import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { confirmPassword } from './confirm-password.ts'
import { givenPassword } from './password.ts'
import type { Settings } from './settings.ts'

/**
 * Makes a session fresh again: calls that were rejected with `SESSION_NOT_FRESH` pass. The credentials are
 * replaced, so only the caller's are fresh. The session id stays.
 */
export function reauthenticate({ limits }: Settings): Endpoint<{ password: string }, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticate,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ password: givenPassword }),
    output: tokens,
    async run({ password }, context) {
      await confirmPassword(password, context, limits)
      return renewSession(context, { cause: 'reauthenticated' })
    },
  })
}
