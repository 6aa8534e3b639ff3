import { isAuthError, isEndpointError, readCookie } from '@sallyport/core'
import {
  type AuthTransaction,
  commit,
  type RecordEvent,
  type RequestOptions,
  rejections,
  type ServerApi,
  type SessionDatabase,
} from '@sallyport/core/auth'
import * as client from 'openid-client'

const reject = rejections({
  SIGN_IN_FAILED: { status: 400, message: 'Sign-in failed. Start again.' },
  EMAIL_UNVERIFIED: { status: 403, message: 'Your provider has not verified your email' },
  EMAIL_TAKEN: { status: 409, message: 'There is an account with this email. Sign in to it.' },
})

interface Person {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  /** Null if the provider has not verified it. */
  readonly email: string | null
}

/** Creates the route to an OpenID provider, and the one back. */
export function createProviderSignIn({
  provider,
  redirectUri,
  api,
  database,
}: {
  provider: client.Configuration
  /** The callback URL, as registered at the provider. */
  redirectUri: string
  api: ServerApi
  database: SessionDatabase
}) {
  // Verifies the signature of ID tokens, too.
  client.enableNonRepudiationChecks(provider)

  return {
    /** `GET /sign-in/acme` */
    async start(): Promise<Response> {
      const codeVerifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const location = client.buildAuthorizationUrl(provider, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      })
      return redirect(location.href, new Headers({ 'set-cookie': keep(`${state}.${nonce}.${codeVerifier}`) }))
    },

    /** `GET /sign-in/acme/callback` */
    async finish(request: Request, { remoteAddress }: RequestOptions = {}): Promise<Response> {
      try {
        const person = await prove(request)
        const userId = await commit(database, (trx, record) => findOrCreateUser(person, trx, record))
        const { headers } = await api.createSession({ userId, request, remoteAddress })
        headers.append('set-cookie', keep(''))
        return redirect('/', headers)
      } catch (error) {
        if (!isAuthError(error) && !isEndpointError(error)) throw error
        return new Response(error.message, { status: error.status, headers: { 'cache-control': 'no-store' } })
      }
    },
  }

  /** Returns the person, if the code was meant for this browser. */
  async function prove(request: Request): Promise<Person> {
    const kept = readCookie(request.headers.get('cookie'), COOKIE)?.split('.') ?? []
    const [expectedState, expectedNonce, pkceCodeVerifier] = kept
    // Otherwise, a callback without state would match a missing cookie.
    if (expectedState === undefined || expectedNonce === undefined || pkceCodeVerifier === undefined)
      throw reject('SIGN_IN_FAILED')
    const checks = { expectedState, expectedNonce, pkceCodeVerifier }
    // Behind a proxy, the host of the request may differ from the browser's.
    const url = new URL(new URL(request.url).search, redirectUri)
    const tokens = await client.authorizationCodeGrant(provider, url, checks).catch((cause: unknown) => {
      throw reject('SIGN_IN_FAILED', { cause })
    })
    const claims = tokens.claims()
    if (claims === undefined) throw reject('SIGN_IN_FAILED')
    const { iss: issuer, sub: subject, name, email, email_verified: isVerified } = claims
    return {
      issuer,
      subject,
      name: typeof name === 'string' && name !== '' ? name : 'New user',
      email: typeof email === 'string' && isVerified === true ? email.trim().toLowerCase() : null,
    }
  }
}

/** Finds the user by the provider's id, never by email. */
async function findOrCreateUser(
  { issuer: providerId, subject: accountId, name, email }: Person,
  trx: AuthTransaction,
  record: RecordEvent,
): Promise<string> {
  const account = await trx
    .selectFrom('account')
    .select('userId')
    .where('providerId', '=', providerId)
    .where('accountId', '=', accountId)
    .executeTakeFirst()
  if (account !== undefined) return account.userId

  if (email === null) throw reject('EMAIL_UNVERIFIED')
  const taken = await trx.selectFrom('user').select('id').where('email', '=', email).executeTakeFirst()
  if (taken !== undefined) throw reject('EMAIL_TAKEN')
  const now = new Date()
  const moments = { createdAt: now, updatedAt: now }
  const userId = crypto.randomUUID()
  const ban = { banned: false, banReason: null, banExpires: null }
  await trx
    .insertInto('user')
    .values({ id: userId, name, email, emailVerified: true, image: null, role: 'user', ...ban, ...moments })
    .execute()
  await trx
    .insertInto('account')
    .values({ id: crypto.randomUUID(), userId, providerId, accountId, password: null, ...moments })
    .execute()
  record({ type: 'user.created', userId, actorId: null, at: now })
  return userId
}

/** With `__Host-`, no other host can set it, so a visitor can't be made to finish an attacker's sign-in. */
const COOKIE = '__Host-acme-sign-in'

/** Lives for ten minutes. `Lax`, because the browser comes back from another site. */
function keep(value: string): string {
  return `${COOKIE}=${value}; Path=/; Max-Age=${value === '' ? 0 : 600}; Secure; HttpOnly; SameSite=Lax`
}

function redirect(location: string, headers: Headers): Response {
  headers.set('location', location)
  headers.set('cache-control', 'no-store')
  return new Response(null, { status: 302, headers })
}
