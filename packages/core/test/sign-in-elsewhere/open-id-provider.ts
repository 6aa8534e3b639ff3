import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { serve } from './serve.ts'

/** The app as it is registered at the provider. */
export const CLIENT = { id: 'the-app', secret: 'the secret of the app' }

/** Who is signed in at the provider, in the browser that comes. */
export interface ProviderPerson {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
}

/** A small OpenID provider without a consent page. */
export interface OpenIdProvider {
  readonly issuer: URL
  /** Who comes. */
  person: ProviderPerson
  /** What the next ID tokens say instead. */
  alter: (claims: JWTPayload) => JWTPayload
  /** Whether the next ID tokens are signed with a key that is not published. */
  signsWithStrangeKey: boolean
}

interface Grant {
  readonly redirectUri: string
  readonly codeChallenge: string | null
  readonly claims: JWTPayload
}

/** Starts a provider that is gone after the tests of the file. */
export async function startOpenIdProvider(): Promise<OpenIdProvider> {
  const [own, strange] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  const jwk = { ...(await exportJWK(own.publicKey)), alg: 'ES256', use: 'sig', kid: 'of-the-provider' }
  const grants = new Map<string, Grant>()

  const origin = await serve(async (request) => {
    const url = new URL(request.url)
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /.well-known/openid-configuration':
        return Response.json(metadata())
      case 'GET /jwks':
        return Response.json({ keys: [jwk] })
      case 'GET /authorize':
        return authorize(url.searchParams)
      case 'POST /token':
        return grantTokens(new URLSearchParams(await request.text()))
      default:
        return new Response(null, { status: 404 })
    }
  })

  function metadata(): object {
    return {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      code_challenge_methods_supported: ['S256'],
    }
  }

  function authorize(parameters: URLSearchParams): Response {
    const read = (name: string) => parameters.get(name) ?? ''
    const isComplete =
      read('response_type') === 'code' &&
      read('client_id') === CLIENT.id &&
      read('scope').split(' ').includes('openid')
    if (!isComplete) return new Response('Bad request', { status: 400 })
    const code = randomUUID()
    const redirectUri = read('redirect_uri')
    // Like many, it takes those who send neither nonce nor challenge.
    const nonce = parameters.has('nonce') && { nonce: read('nonce') }
    const codeChallenge = read('code_challenge_method') === 'S256' ? read('code_challenge') : null
    grants.set(code, { redirectUri, codeChallenge, claims: { ...provider.person, ...nonce } })
    const location = new URL(redirectUri)
    location.searchParams.set('code', code)
    if (parameters.has('state')) location.searchParams.set('state', read('state'))
    return new Response(null, { status: 302, headers: { location: location.href } })
  }

  async function grantTokens(parameters: URLSearchParams): Promise<Response> {
    const read = (name: string) => parameters.get(name) ?? ''
    if (read('client_id') !== CLIENT.id || read('client_secret') !== CLIENT.secret)
      return Response.json({ error: 'invalid_client' }, { status: 401 })
    const grant = grants.get(read('code'))
    // Good for one request, whatever comes of it.
    grants.delete(read('code'))
    const codeChallenge = createHash('sha256').update(read('code_verifier')).digest('base64url')
    const isRight =
      read('grant_type') === 'authorization_code' &&
      grant?.redirectUri === read('redirect_uri') &&
      (grant.codeChallenge === null || grant.codeChallenge === codeChallenge)
    if (!isRight) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: origin, aud: CLIENT.id, iat: now, exp: now + 60, ...grant.claims }
    const idToken = await new SignJWT(provider.alter(claims))
      .setProtectedHeader({ alg: 'ES256', kid: jwk.kid })
      .sign(provider.signsWithStrangeKey ? strange.privateKey : own.privateKey)
    return Response.json({ access_token: 'unused', token_type: 'Bearer', expires_in: 60, id_token: idToken })
  }

  const provider: OpenIdProvider = {
    issuer: new URL(origin),
    person: { sub: 'nobody' },
    alter: (claims) => claims,
    signsWithStrangeKey: false,
  }
  return provider
}
