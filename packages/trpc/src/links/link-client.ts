import type { AuthClient } from '../client/auth-client.ts'
import type { clientSession } from '../client/client-session.ts'
import type { LinkSession } from './link-session.ts'

/** The result of `createAuthClient`, or of `betterAuthSession`. */
export interface LinkClient {
  readonly [clientSession]: LinkSession
  /** Sends the credentials. Absent if the browser does. */
  readonly fetch?: AuthClient['fetch']
}
