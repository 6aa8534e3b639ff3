import * as z from 'zod'
import { clearCookie } from '../cookie.ts'
import { ENDPOINT_PATHS } from '../protocol.ts'
import { signOutSession } from '../session/lifecycle.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'

/**
 * Ends the caller's session and deletes both cookies (spec section 4). The session cookie alone says whose it is, so it works
 * with an expired JWT and for a banned user, and doing it twice is not an error.
 */
export const signOut: Endpoint = defineEndpoint({
  method: 'POST',
  path: ENDPOINT_PATHS.signOut,
  origin: 'mutation',
  caller: 'anyone',
  input: z.strictObject({}).optional(),
  async run(_input, { config, credentials, database }) {
    if (credentials.sessionCookie !== null) await signOutSession(credentials.sessionCookie, database)
    return {
      body: { success: true },
      cookies: [clearCookie(config.cookies.jwt, config), clearCookie(config.cookies.session, config)],
    }
  },
})
