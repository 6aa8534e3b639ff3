import { createSession, type NewSessionOptions } from '../lifecycle/create-session.ts'
import { prepareTokens, type TokenResult } from '../lifecycle/prepare-tokens.ts'
import type { EndpointContext } from './endpoint.ts'

/** Begins a session for a user who has just proved who they are, and responds with its tokens. */
export async function beginSession(
  userId: string,
  context: EndpointContext,
  options: Pick<NewSessionOptions, 'authorize' | 'knownDevice' | 'rememberMe'> = {},
): Promise<TokenResult> {
  const { config, database, address, request, sessionCookie: replaces } = context
  const id = crypto.randomUUID()
  const issue = await prepareTokens({ id, userId }, context)
  const browser = { address, userAgent: request.header('user-agent'), replaces }
  return issue(await createSession(database, { ...options, ...browser, id, userId, config }))
}
