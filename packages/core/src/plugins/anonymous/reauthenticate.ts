import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { noFields, tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession } from '../../endpoints/renew-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { requireAnonymous } from './require-anonymous.ts'

/**
 * Makes the session of an anonymous user fresh, so they can add a passkey or an email, and replaces its
 * credentials. The session cookie is all that proves who such a user is.
 */
export const reauthenticateAnonymous: Endpoint<object, TokenResponse, true> = defineEndpoint({
  ...ENDPOINTS.reauthenticateAnonymous,
  caller: 'user',
  setsCookies: true,
  input: noFields,
  output: tokens,
  async run(_input, context) {
    const { userId } = context.identity
    return renewSession(context, {
      cause: 'reauthenticated',
      work: (trx) => requireAnonymous(userId, trx),
    })
  },
})
