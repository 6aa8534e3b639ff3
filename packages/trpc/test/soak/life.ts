import { AUTH_PATH, ENDPOINTS, type Route } from '@sallyport/core/internal/protocol'
import type { Answer } from '../revocation/answer.ts'
import { callOverHttp, openSocket, subscribeOverEvents } from '../revocation/calls.ts'
import { BASE_URL } from '../revocation/node-settings.ts'
import type { SignedIn } from '../revocation/signed-in-users.ts'
import type { Node } from '../revocation/start-nodes.ts'

export interface Account {
  readonly email: string
  readonly password: string
}

/** The ways to end a session: here, or on another node. */
export type End = 'sign out' | 'revoke' | 'revoke elsewhere'

/** Runs one session from its sign-in to its end, with calls and two streams. Throws at a wrong answer. */
export async function live(
  node: Node,
  account: Account,
  { end, revokeElsewhere }: { end: End; revokeElsewhere: (sessionId: string) => Promise<unknown> },
): Promise<void> {
  const caller = await signIn(node, account)
  for (let calls = 0; calls < 3; calls++) expectReason(await callOverHttp(node, caller), null)
  const socket = await openSocket(node, caller)
  expectReason(await socket.call(), null)
  const streams = [socket.subscribe(), subscribeOverEvents(node, caller)]
  for (const { begun } of streams) expectReason(await begun, null)
  await send(node, ENDPOINTS.token, caller.cookie)

  if (end === 'sign out') await send(node, ENDPOINTS.signOut, caller.cookie, {})
  else if (end === 'revoke') {
    await send(node, ENDPOINTS.revokeSession, caller.cookie, { sessionId: caller.sessionId })
  } else await revokeElsewhere(caller.sessionId)
  expectReason(await callOverHttp(node, caller), 'SESSION_NOT_FOUND')
  for (const { ended } of streams) expectReason(await ended, 'SESSION_NOT_FOUND')
  socket.close()
}

async function signIn(node: Node, account: Account): Promise<SignedIn> {
  const response = await send(node, ENDPOINTS.signInEmail, '', account)
  const { userId, sessionId } = await response.json()
  const pairs = response.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  return { userId, sessionId, version: 1, issuer: BASE_URL, cookie: pairs.join('; ') }
}

async function send(
  { host }: Node,
  { method, path }: Route,
  cookie: string,
  body?: object,
): Promise<Response> {
  const response = await fetch(`http://${host}${AUTH_PATH}${path}`, {
    method,
    headers: { cookie, origin: BASE_URL, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  // Otherwise the connection isn't reused.
  return new Response(await response.text(), response)
}

function expectReason({ status, reason }: Answer, expected: string | null): void {
  if (reason !== expected) throw new Error(`${status} ${reason} instead of ${expected}`)
}
