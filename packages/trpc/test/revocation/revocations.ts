import { Agent, type IncomingMessage, request } from 'node:http'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS, type Route } from '@sallyport/core/internal/protocol'
import type { SharedDatabase } from './databases.ts'
import { BASE_URL } from './node-settings.ts'
import type { SignedIn } from './signed-in-users.ts'
import type { Node } from './start-nodes.ts'

/** The ways to end a session early. */
export const KINDS = ['sign-out', 'admin', 'ban', 'user deleted', 'row deleted by plain SQL'] as const
export type Kind = (typeof KINDS)[number]

/** The close code for sockets of banned users. */
export const BANNED = 4_403

/** Returns the reason of later rejections. */
export function reasonAfter(kind: Kind): string {
  return kind === 'ban' ? 'ACCOUNT_BANNED' : 'SESSION_NOT_FOUND'
}

/** The parameters of {@link revoke}. */
export interface Means {
  /** The node that gets the request. */
  readonly node: Node
  readonly admin: SignedIn
  readonly database: SharedDatabase
}

/** Ends a session. Resolves to the response's status once acknowledged. Rejects without a response. */
export async function revoke(
  kind: Kind,
  victim: SignedIn,
  { node, admin, database }: Means,
): Promise<number> {
  const { userId, sessionId } = victim
  switch (kind) {
    case 'sign-out':
      return post(node, ENDPOINTS.signOut, victim)
    case 'admin':
      return post(node, ENDPOINTS.revokeUserSession, admin, { sessionId })
    case 'ban':
      return post(node, ENDPOINTS.banUser, admin, { userId })
    case 'user deleted':
      return post(node, ENDPOINTS.deleteUser, victim)
    case 'row deleted by plain SQL':
      await database.deleteSession(sessionId)
      return 200
  }
}

const agent = new Agent({ keepAlive: true })

function post(
  { host }: Node,
  { method, path }: Route,
  caller: SignedIn,
  input: object = {},
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = {
    cookie: caller.cookie,
    origin: BASE_URL,
    [CLIENT_HEADER]: '1',
    'content-type': 'application/json',
  }
  const url = `http://${host}${AUTH_PATH}${path}`
  const answered = (response: IncomingMessage) => {
    resolve(response.statusCode ?? 0)
    response.resume()
  }
  request(url, { method, agent, headers }, answered).on('error', reject).end(JSON.stringify(input))
  return promise
}
