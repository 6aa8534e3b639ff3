import * as z from 'zod'
import { ENDPOINT_PATHS } from '../protocol.ts'
import { validateSessionCookie } from '../session/lifecycle.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'
import { EndpointError } from './endpoint-error.ts'
import { issueTokens } from './issue-tokens.ts'

/**
 * A new JWT for a session that still counts (spec section 4). Authenticates by the session cookie alone, since the JWT may have
 * expired. A prefetch must not mint: nobody asked for it.
 */
export const token: Endpoint = defineEndpoint({
  method: 'GET',
  path: ENDPOINT_PATHS.token,
  origin: 'token',
  caller: 'anyone',
  input: z.undefined(),
  async run(_input, context) {
    const { header } = context.request
    const purposes = ['sec-purpose', 'purpose', 'x-moz'].map((name) => header(name)?.toLowerCase() ?? '')
    if (purposes.some((purpose) => purpose.includes('prefetch'))) throw new EndpointError('PREFETCH_REFUSED')
    const session = await validateSessionCookie(context.sessionCookie, context.database, context.config)
    return issueTokens(session, context)
  },
})
