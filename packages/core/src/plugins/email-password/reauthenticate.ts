import * as z from 'zod'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { answerNewSecret } from '../../endpoints/issue-tokens.ts'
import { newSecret } from '../../endpoints/plain-schemas.ts'
import { ENDPOINTS, type NewSecretResponse } from '../../protocol.ts'
import { confirmSession } from '../../session/confirm-session.ts'
import { confirmPassword } from './confirm-password.ts'
import { givenPassword } from './password.ts'
import type { Settings } from './settings.ts'

/** Makes a session fresh again: afterwards what answered `SESSION_NOT_FRESH` passes. The id of the session stays. */
export function reauthenticate({
  limits,
}: Settings): Endpoint<{ password: string }, NewSecretResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticate,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ password: givenPassword }),
    output: newSecret,
    async run({ password }, context) {
      await confirmPassword(password, context, limits)
      const { identity, sessionCookie, config, change } = context
      const confirmation = { sessionId: identity.sessionId, sessionCookie, now: config.now() }
      return answerNewSecret(await change((trx) => confirmSession(trx, confirmation)), context)
    },
  })
}
