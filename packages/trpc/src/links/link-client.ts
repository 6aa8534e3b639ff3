import type { AuthClient } from '../client/auth-client.ts'
import { clientSession } from '../client/client-session.ts'
import { type BetterAuthClient, betterAuthSession } from './better-auth-session.ts'
import type { LinkSession } from './link-session.ts'

/** The result of `createAuthClient`, of this package or of Better Auth. */
export type LinkClient = Pick<AuthClient, typeof clientSession> | BetterAuthClient

const sessions = new WeakMap<object, LinkSession>()

/** Returns the session of a client. All links of a client share it. */
export function sessionOf(client: LinkClient): LinkSession {
  if (!isBetterAuth(client)) return client[clientSession]
  const session = sessions.get(client) ?? betterAuthSession(client)
  sessions.set(client, session)
  return session
}

/** Better Auth's client is a proxy around a function, so `in` doesn't find its members. */
export function isBetterAuth(client: object): client is BetterAuthClient {
  return typeof client === 'function' || '$store' in client
}
