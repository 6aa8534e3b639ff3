import { once } from 'node:events'
import { createServer } from 'node:http'
import Provider, { type Configuration } from 'oidc-provider'
import { afterAll } from 'vitest'

export const CLIENT = { clientId: 'the-app', clientSecret: 'a secret of the app, which is long enough' }

export interface Claims {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
  readonly picture?: string
}

export interface OidcServer {
  readonly issuer: string
  /** The person who signs in next, and consents to everything. */
  person: Claims
  /** Whether the person cancels. */
  cancels: boolean
}

/** Starts `oidc-provider` on a free port until the tests of the file are over. */
export async function startOidcServer(options: Configuration = {}): Promise<OidcServer> {
  const http = createServer()
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  afterAll(() => {
    http.close()
    http.closeAllConnections()
  })
  const address = http.address()
  if (typeof address !== 'object' || address === null) throw new Error('It listens on no port')
  const issuer = `http://127.0.0.1:${address.port}`
  const people = new Map<string, Claims>()
  const server: OidcServer = { issuer, person: { sub: 'nobody' }, cancels: false }

  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: ['http://localhost:3000/api/auth/callback/acme'],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
    cookies: { keys: ['a key for the cookies of the provider'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: async () => ({ ...people.get(sub), sub }),
    }),
    ...options,
  })
  const handle = provider.callback()
  http.on('request', async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return handle(request, response)
    if (server.cancels) {
      const error = { error: 'access_denied', error_description: 'The person said no <script>' }
      return provider.interactionFinished(request, response, error)
    }
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login') {
      people.set(server.person.sub, server.person)
      return provider.interactionFinished(request, response, { login: { accountId: server.person.sub } })
    }
    const clientId = CLIENT.clientId
    const existing = grantId === undefined ? undefined : await provider.Grant.find(grantId)
    const grant = existing ?? new provider.Grant({ accountId: session?.accountId ?? '', clientId })
    grant.addOIDCScope(String(params.scope))
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  })
  return server
}
