import * as z from 'zod'
import type { AuthPlugin } from '../definition.ts'
import { defineEndpoint } from '../endpoints/endpoint.ts'
import { ENDPOINT_PATHS } from '../protocol.ts'
import { revokeSession } from '../session/lifecycle.ts'

/** Endpoints for users whose row has the role `admin`. */
export function admin(): AuthPlugin {
  return { id: 'admin', endpoints: [revokeUserSession] }
}

/** Ends one session of any user. The JWT stays in that browser and is useless (spec section 4). */
const revokeUserSession = defineEndpoint({
  method: 'POST',
  path: ENDPOINT_PATHS.revokeUserSession,
  origin: 'mutation',
  caller: 'admin',
  input: z.strictObject({ sessionId: z.string().min(1).max(128) }),
  run: async ({ sessionId }, { database }) => ({
    body: { revoked: await revokeSession(sessionId, database) },
  }),
})
