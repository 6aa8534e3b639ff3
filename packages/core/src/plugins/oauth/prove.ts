import * as client from 'openid-client'
import * as z from 'zod/mini'
import { userImage, userName } from '../../endpoints/user-record.ts'
import { Fault } from '../../events/failure-code.ts'
import { isEndpointError } from '../../protocol/endpoint-error.ts'
import { emailAddress } from '../internal.ts'
import { oauthError } from './errors.ts'
import { type Flow, secretsOf } from './flow.ts'
import type { OauthPerson } from './options.ts'
import { standard } from './presets.ts'
import type { Provider } from './providers.ts'

/** What a callback proved. */
export interface Proof {
  readonly person: Person
  readonly tokens: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers
  /** What the provider says about the sign-in, from the ID token. */
  readonly amr: readonly string[]
  readonly acr: string | null
  /** In seconds since 1970; null if unknown. */
  readonly authTime: number | null
}

/** A person whose texts are valid. */
export interface Person {
  readonly accountId: string
  readonly name: string | null
  readonly email: string | null
  readonly emailVerified: boolean
  readonly image: string | null
}

/**
 * Exchanges the code of a callback. Checks `state`, `iss` (RFC 9207), PKCE, and the ID token with its nonce.
 * @throws EndpointError `SIGN_IN_CANCELED`, `SIGN_IN_FAILED`, or `PROVIDER_UNAVAILABLE`
 */
export async function prove(
  parameters: URLSearchParams,
  { provider, flow, redirectUri }: { provider: Provider; flow: Flow; redirectUri: string },
): Promise<Proof> {
  const config = await provider.connect()
  // Behind a proxy, the host of the request may differ from the browser's.
  const url = new URL(`?${parameters}`, redirectUri)
  const state = parameters.get('state') ?? ''
  const { nonce, codeVerifier } = await secretsOf(state, flow)
  try {
    const tokens = await client.authorizationCodeGrant(config, url, {
      expectedState: state,
      ...(provider.pkce !== false && { pkceCodeVerifier: codeVerifier }),
      ...(provider.isOpenId && { expectedNonce: nonce, idTokenExpected: true }),
    })
    const claims = tokens.claims()
    const person = await readPerson(tokens, provider, config)
    return {
      person: validPerson(person, flow.personName),
      tokens,
      amr: provider.trustAmr === true && provider.isOpenId ? readMethods(claims?.amr) : [],
      acr: provider.isOpenId ? readText(claims?.acr) : null,
      authTime: provider.isOpenId ? (claims?.auth_time ?? null) : null,
    }
  } catch (error) {
    throw toRejection(error)
  }
}

async function readPerson(
  tokens: Proof['tokens'],
  provider: Provider,
  config: client.Configuration,
): Promise<OauthPerson> {
  const { access_token: token } = tokens
  const { userinfo_endpoint: discovered = '', claims_supported: supported = [] } = config.serverMetadata()
  const { readPerson = ({ claims }) => standard(claims), userInfoEndpoint = discovered } = provider
  const get = async (path: string) => readJson(config, token, new URL(path, `${userInfoEndpoint}/`))
  if (!provider.isOpenId) {
    const claims = z.parse(anyObject, await readJson(config, token, new URL(userInfoEndpoint)))
    return readPerson({ claims, get })
  }
  const claims = { ...tokens.claims() }
  const { sub = '' } = claims
  // The ID tokens of Okta have an email, but only UserInfo says whether it is verified.
  const saysMore = claims.email_verified === undefined && supported.includes('email_verified')
  const isShort = (claims.email === undefined || saysMore) && discovered !== ''
  // The library rejects a response about another `sub`.
  const more = isShort ? await client.fetchUserInfo(config, token, sub) : {}
  // UserInfo last: what is verified is its email.
  return { ...(await readPerson({ claims: { ...claims, ...more }, get })), accountId: sub }
}

const anyObject = z.record(z.string(), z.unknown())

async function readJson(config: client.Configuration, token: string, url: URL): Promise<unknown> {
  // GitHub rejects requests without a `User-Agent`.
  const headers = new Headers({ accept: 'application/json', 'user-agent': 'sallyport' })
  const response = await client.fetchProtectedResource(config, token, url, 'GET', undefined, headers)
  if (!response.ok) throw new Error(`The provider responded with ${response.status}`)
  return response.json()
}

/** Pages and emails contain these texts, and a provider checks them less than we do. */
function validPerson(person: OauthPerson, postedName: string | null): Person {
  const { data: accountId } = z.safeParse(
    z.string().check(z.minLength(1), z.maxLength(255)),
    person.accountId,
  )
  if (accountId === undefined) throw oauthError('SIGN_IN_FAILED', { cause: invalidResponse('no id') })
  const email = z.safeParse(emailAddress, person.email).data ?? null
  return {
    accountId,
    name: z.safeParse(userName, person.name).data ?? postedName,
    email,
    emailVerified: email !== null && person.emailVerified === true,
    image: z.safeParse(userImage, person.image).data ?? null,
  }
}

const methods = z.array(z.string().check(z.regex(/^[a-z0-9_-]{1,32}$/))).check(z.maxLength(16))

function readMethods(amr: unknown): readonly string[] {
  return z.safeParse(methods, amr).data ?? []
}

function readText(value: unknown): string | null {
  return z.safeParse(z.string().check(z.minLength(1), z.maxLength(255)), value).data ?? null
}

/** Errors that no other attempt of the user repairs: of our configuration or of the provider's server. */
const FOR_OPERATOR = new Set([
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  // GitHub
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
  'application_suspended',
  // LinkedIn
  'unauthorized_scope_error',
  // UserInfo (RFC 6750 section 3.1)
  'invalid_token',
  'insufficient_scope',
])

/** Apple and LinkedIn have other codes than the standard. */
const CANCELED = new Set(['access_denied', 'user_cancelled_authorize', 'user_cancelled_login'])

export function toRejection(cause: unknown): Error {
  if (isEndpointError(cause)) return cause
  const code = providerCode(cause)
  const isOfPage = cause instanceof client.AuthorizationResponseError
  if (isOfPage && CANCELED.has(code)) return oauthError('SIGN_IN_CANCELED', { cause })
  // Only our request is invalid there. The token endpoint may also mean a code or a refresh token.
  const isOurs = isOfPage && code === 'invalid_request'
  // The default log doesn't print the innermost cause.
  if (FOR_OPERATOR.has(code) || isOurs)
    return oauthError('PROVIDER_UNAVAILABLE', { cause: new Error(`The provider says ${code}`, { cause }) })
  if (code !== '') return oauthError('SIGN_IN_FAILED', { cause })
  if (!(cause instanceof client.ClientError) || UNAVAILABLE.has(cause.code ?? ''))
    return oauthError('PROVIDER_UNAVAILABLE', { cause })
  // Without its own cause, which has tokens.
  const { message } = cause.cause instanceof Error ? cause.cause : cause
  return oauthError('SIGN_IN_FAILED', { cause: invalidResponse(message) })
}

/** For the operator: every sign-in may fail, such as with another issuer or a wrong clock. */
function invalidResponse(reason: string): Fault {
  return new Fault('PROVIDER_UNAVAILABLE', `The provider's response isn't valid: ${reason}`)
}

/**
 * Returns the code of a provider's response (RFC 6749, sections 4.1.2.1 and 5.2); empty without one. GitLab
 * also has it in a header, and then the library doesn't read the body.
 */
function providerCode(cause: unknown): string {
  if (cause instanceof client.AuthorizationResponseError || cause instanceof client.ResponseBodyError)
    return cause.error
  if (cause instanceof client.WWWAuthenticateChallengeError)
    return cause.cause.find(({ parameters }) => parameters.error)?.parameters.error ?? ''
  return z.safeParse(githubRejection, cause).data?.cause.cause.body.error ?? ''
}

/** GitHub rejects with status 200, so the library's error is about the missing token. */
const githubRejection = z.object({
  cause: z.object({ cause: z.object({ body: z.object({ error: z.string() }) }) }),
})

/** Codes of the library. An error that it doesn't know has none, such as of a response that was cut. */
const UNAVAILABLE = new Set([
  '',
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
])
