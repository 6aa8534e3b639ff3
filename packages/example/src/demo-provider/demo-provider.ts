import { generateKeyPairSync } from 'node:crypto'
import Provider from 'oidc-provider'
import { env } from '../env.ts'
import { demo, PROVIDER_PATH } from './app-at-provider.ts'
import { choicePage } from './choice-page.ts'
import { PEOPLE } from './people.ts'

const TEN_MINUTES = 600

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const provider = new Provider(demo.issuer, {
  clients: [
    {
      client_id: demo.clientId,
      client_secret: demo.clientSecret,
      redirect_uris: [`${env.BASE_URL}/api/auth/callback/demo`],
      token_endpoint_auth_method: 'client_secret_post',
      id_token_signed_response_alg: 'ES256',
    },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
  cookies: { keys: [crypto.randomUUID()] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  ttl: {
    AccessToken: TEN_MINUTES,
    Grant: TEN_MINUTES,
    IdToken: TEN_MINUTES,
    Interaction: TEN_MINUTES,
    Session: TEN_MINUTES,
  },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, { uid }) => `${PROVIDER_PATH}/choose/${uid}` },
  findAccount: (_context, sub) => ({
    accountId: sub,
    claims: async () => ({ sub, ...PEOPLE[sub], email_verified: true }),
  }),
  // The visitor has consented by choosing a person.
  async loadExistingGrant({ oidc: { account } }) {
    const grant = new provider.Grant({ accountId: account?.accountId ?? '', clientId: demo.clientId })
    grant.addOIDCScope('openid email profile')
    await grant.save()
    return grant
  },
})

/** The page with the people, and its buttons. */
provider.use(async (context, next) => {
  const { method, path, req, res } = context
  const [isChoice, person = ''] = /^\/choose\/[\w-]+(?:\/(\w+))?$/.exec(path) ?? []
  if (isChoice === undefined) return next()
  if (method !== 'POST') return choicePage(context)
  if (!Object.hasOwn(PEOPLE, person)) return context.throw(404)
  context.redirect(await provider.interactionResult(req, res, { login: { accountId: person } }))
})

/**
 * An OpenID provider with two people, for development. Visitors say who they are, and it believes them. It
 * forgets everything when the process ends.
 */
export const demoProvider = provider.callback()
