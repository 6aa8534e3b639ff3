import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { serve } from '../../sign-in-elsewhere/serve.ts'
import { CLIENT, type Claims } from './oidc-server.ts'

/** A small provider that a test can make hostile, without a consent page. */
export interface LocalProvider {
  readonly issuer: string
  /** The person who signs in next. */
  person: Claims
  /** Changes the next ID tokens. */
  alter: (claims: JWTPayload) => JWTPayload
  /** Whether the next ID tokens are signed with a key that isn't published. */
  signsWithStrangeKey: boolean
  /** Changes the response of the token endpoint. */
  alterTokens: (tokens: Record<string, unknown>) => unknown
  /** The responses with an access token, by path. */
  readonly resources: Map<string, unknown>
  /** Parameters that the callback gets too. */
  added: Record<string, string>
  /** What the token endpoint received, last first. */
  readonly tokenRequests: { parameters: URLSearchParams; authorization: string | null }[]
  /** Refresh tokens that are valid. */
  readonly refreshTokens: Set<string>
  /** The status of the token endpoint. */
  tokenStatus: number
  /** Whether rejections of the token endpoint have a challenge, as at GitLab. */
  challenges: boolean
  /** Whether the responses of the token endpoint end early. */
  cutsTokens: boolean
}

interface Grant {
  readonly redirectUri: string
  readonly codeChallenge: string | null
  readonly claims: JWTPayload
}

export async function startLocalProvider(metadata: object = {}): Promise<LocalProvider> {
  const [own, strange] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  const jwk = { ...(await exportJWK(own.publicKey)), alg: 'ES256', use: 'sig', kid: 'own' }
  const grants = new Map<string, Grant>()

  const issuer = await serve(async (request) => {
    const url = new URL(request.url)
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /.well-known/openid-configuration':
        return Response.json(discovered())
      case 'GET /jwks':
        return Response.json({ keys: [jwk] })
      case 'GET /authorize':
        return authorize(url.searchParams)
      case 'POST /token':
        return cut(await challenge(await grantTokens(request)))
      default:
        return respond(request, url.pathname)
    }
  })

  function discovered(): object {
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      ...metadata,
    }
  }

  function authorize(parameters: URLSearchParams): Response {
    const code = randomUUID()
    const redirectUri = parameters.get('redirect_uri') ?? ''
    // Like many, it accepts a request without nonce and challenge.
    const nonce = parameters.has('nonce') && { nonce: parameters.get('nonce') }
    grants.set(code, {
      redirectUri,
      codeChallenge: parameters.get('code_challenge'),
      claims: { ...provider.person, ...nonce },
    })
    const state = parameters.has('state') && { state: parameters.get('state') ?? '' }
    const sent = new URLSearchParams({ code, ...state, ...provider.added })
    if (parameters.get('response_mode') === 'form_post') return postForm(redirectUri, sent)
    return new Response(null, { status: 302, headers: { location: `${redirectUri}?${sent}` } })
  }

  /** A page whose form posts itself (OAuth 2.0 Form Post Response Mode). */
  function postForm(redirectUri: string, sent: URLSearchParams): Response {
    const quote = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    const fields = Array.from(sent, ([name, value]) => `<input name="${name}" value="${quote(value)}">`)
    const form = `<form method="post" action="${redirectUri}">${fields.join('')}</form>`
    const html = `<!doctype html>${form}<script>document.forms[0].submit()</script>`
    return new Response(html, { headers: { 'content-type': 'text/html' } })
  }

  async function grantTokens(request: Request): Promise<Response> {
    const parameters = new URLSearchParams(await request.text())
    provider.tokenRequests.unshift({ parameters, authorization: request.headers.get('authorization') })
    const read = (name: string) => parameters.get(name) ?? ''
    if (provider.tokenStatus !== 200)
      return new Response('<html>down</html>', { status: provider.tokenStatus })
    const basic = request.headers.get('authorization')?.startsWith('Basic ') === true
    if (!basic && (read('client_id') !== CLIENT.clientId || read('client_secret') !== CLIENT.clientSecret))
      return Response.json({ error: 'invalid_client' }, { status: 401 })
    if (read('grant_type') === 'refresh_token') {
      // Each works once, as at providers that rotate them.
      if (!provider.refreshTokens.delete(read('refresh_token')))
        return Response.json({ error: 'invalid_grant' }, { status: 400 })
      return Response.json(provider.alterTokens({ ...tokens(), scope: 'api' }))
    }
    const grant = grants.get(read('code'))
    grants.delete(read('code'))
    const codeChallenge = createHash('sha256').update(read('code_verifier')).digest('base64url')
    const isValid =
      grant?.redirectUri === read('redirect_uri') &&
      (grant.codeChallenge === null || grant.codeChallenge === codeChallenge)
    if (!isValid) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: CLIENT.clientId, iat: now, exp: now + 60, ...grant.claims }
    const idToken = await new SignJWT(provider.alter(claims))
      .setProtectedHeader({ alg: 'ES256', kid: jwk.kid })
      .sign(provider.signsWithStrangeKey ? strange.privateKey : own.privateKey)
    return Response.json(provider.alterTokens({ ...tokens(), id_token: idToken }))
  }

  async function challenge(response: Response): Promise<Response> {
    if (!provider.challenges || response.ok) return response
    const { error } = await response.clone().json()
    response.headers.set('www-authenticate', `Bearer realm="Doorkeeper", error="${error}"`)
    return response
  }

  async function cut(response: Response): Promise<Response> {
    if (!provider.cutsTokens) return response
    return new Response((await response.text()).slice(0, -1), response)
  }

  function tokens(): Record<string, unknown> {
    const refreshToken = randomUUID()
    provider.refreshTokens.add(refreshToken)
    return { access_token: randomUUID(), token_type: 'Bearer', expires_in: 600, refresh_token: refreshToken }
  }

  function respond(request: Request, path: string): Response {
    const resource = provider.resources.get(path)
    if (resource === undefined) return new Response(null, { status: 404 })
    if (request.headers.get('authorization')?.startsWith('Bearer ') !== true)
      return new Response(null, { status: 401 })
    return Response.json(resource)
  }

  const provider: LocalProvider = {
    issuer,
    person: { sub: 'nobody' },
    alter: (claims) => claims,
    signsWithStrangeKey: false,
    alterTokens: (tokens) => tokens,
    resources: new Map(),
    added: {},
    tokenRequests: [],
    refreshTokens: new Set(),
    tokenStatus: 200,
    challenges: false,
    cutsTokens: false,
  }
  return provider
}
