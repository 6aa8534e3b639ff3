import { decodeClientDataJSON } from '@simplewebauthn/server/helpers'
import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import type { AuthorizedContext, EndpointContext } from '../../endpoints/endpoint.ts'
import { readCookie, setCookie } from '../../request/cookie.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { passkeyError } from './settings.ts'
import { withOwnTables } from './tables.ts'

/** How long the user has to respond to the browser's dialog. */
export const CHALLENGE_SECONDS: number = 5 * 60

/** What a response of a passkey is for. */
export type Purpose = 'sign-in' | 'reauthenticate' | 'add'

interface Challenge {
  /** In base64url, as the browser repeats it. */
  readonly challenge: string
  readonly purpose: Purpose
}

/** Creates a challenge, and the cookie that binds it to this browser. */
export async function createChallenge(
  purpose: Purpose,
  context: EndpointContext | AuthorizedContext,
): Promise<{ challenge: string; cookies: string[] }> {
  const { config } = context
  const challenge = createSecret()
  const browser = browserOf(context) ?? createSecret()
  const expiresAt = new Date(config.now().getTime() + CHALLENGE_SECONDS * 1000)
  const id = await idOf({ challenge, purpose }, browser, context)
  await context.change(async (trx) => {
    await withOwnTables(trx).insertInto('passkeyChallenge').values({ id, expiresAt }).execute()
  })
  if (browser === NO_COOKIES) return { challenge, cookies: [] }
  const lifetime = { maxAgeSeconds: CHALLENGE_SECONDS, ...config.cookies }
  return { challenge, cookies: [setCookie(nameOf(context), browser, lifetime)] }
}

/**
 * Uses up a challenge, which only this browser can, for the same purpose and in the same session.
 * @throws EndpointError `PASSKEY_TIMEOUT` if it has expired, was used, or is bound to something else
 */
export async function useChallenge(
  trx: AuthTransaction,
  answered: Challenge,
  context: EndpointContext | AuthorizedContext,
): Promise<void> {
  const browser = browserOf(context)
  if (browser === null) throw passkeyError('PASSKEY_TIMEOUT')
  const id = await idOf(answered, browser, context)
  const statement = withOwnTables(trx).deleteFrom('passkeyChallenge').where('id', '=', id)
  const { numDeletedRows } = await statement.where('expiresAt', '>', context.config.now()).executeTakeFirst()
  if (numDeletedRows === 0n) throw passkeyError('PASSKEY_TIMEOUT')
}

const clientData = z.object({ challenge: z.string(), crossOrigin: z.optional(z.boolean()) })

/**
 * Returns the challenge in a response. Rejects a frame on another site's page, which could trick the user.
 * @throws EndpointError `PASSKEY_INVALID`
 */
export function readChallenge(clientDataJSON: string): string {
  try {
    const { challenge, crossOrigin = false } = z.parse(clientData, decodeClientDataJSON(clientDataJSON))
    if (!crossOrigin) return challenge
  } catch (cause) {
    throw passkeyError('PASSKEY_INVALID', { cause })
  }
  throw passkeyError('PASSKEY_INVALID', { cause: new Error('The response is from a cross-origin frame') })
}

/** For callers with the session header. No cookie can have this value. */
const NO_COOKIES = ''

/** Returns the secret in the browser's cookie; null without one. */
function browserOf(context: EndpointContext): string | null {
  if (context.sessionTransport === 'header') return NO_COOKIES
  return readCookie(context.request.header('cookie'), nameOf(context))
}

function nameOf({ config }: EndpointContext): string {
  return `${config.cookies.device}-passkey`
}

function idOf(
  { challenge, purpose }: Challenge,
  browser: string,
  context: EndpointContext | AuthorizedContext,
): Promise<string> {
  const sessionId = 'identity' in context ? context.identity.sessionId : null
  return hashSecret(JSON.stringify([purpose, sessionId, browser, challenge]))
}
