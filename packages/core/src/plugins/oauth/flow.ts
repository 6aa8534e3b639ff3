import type { Selectable } from 'kysely'
import { calculatePKCECodeChallenge } from 'openid-client'
import type { AuthConfig } from '../../config.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { readCookie, setCookie } from '../../request/cookie.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { oauthError } from './errors.ts'
import type { Provider } from './providers.ts'
import { type OauthTables, withOwnTables } from './tables.ts'

/** How long the user has to sign in at the provider. */
const FLOW_SECONDS = 10 * 60

export type Flow = Selectable<OauthTables['oauthFlow']>

/** Where a visit ends. */
export interface Finished {
  readonly redirect: string
  readonly cookies: readonly string[]
}

export type NewFlow = Pick<Flow, 'purpose' | 'redirectTo' | 'errorTo' | 'codeChallenge'> &
  Partial<Pick<Flow, 'userId' | 'sessionId' | 'version'>> & { remembered?: boolean }

interface FlowSecrets {
  readonly nonce: string
  /** For PKCE with the provider. */
  readonly codeVerifier: string
}

export interface StartedFlow extends FlowSecrets {
  readonly state: string
  readonly cookies: readonly string[]
}

/**
 * Stores a visit to a provider. It belongs to this browser by a cookie, so no one can be made to finish the
 * sign-in of another person; or to the app that has the verifier of `codeChallenge`.
 */
export async function createFlow(
  fields: NewFlow,
  provider: Provider,
  context: EndpointContext,
): Promise<StartedFlow> {
  const { config, change } = context
  const [state, salt] = [createSecret(), crypto.randomUUID()]
  // One for all visits of the browser, so those in other tabs can still finish.
  const secret = readSecret(context, provider) ?? createSecret()
  const isOfApp = fields.codeChallenge !== null
  const createdAt = config.now()
  const expiresAt = new Date(createdAt.getTime() + FLOW_SECONDS * 1000)
  const flow = {
    ...{ userId: null, sessionId: null, version: null, remembered: true, personName: null, ...fields },
    ...{ id: await hashSecret(state), provider: provider.id, salt },
    browser: isOfApp ? null : await hashSecret(secret),
    ...{ expiresAt, createdAt },
  }
  await change(async (trx) => {
    await withOwnTables(trx).insertInto('oauthFlow').values(flow).execute()
  })
  const cookies = isOfApp ? [] : [flowCookie(secret, provider, config)]
  return { state, cookies, ...(await secretsOf(state, { salt })) }
}

/** Derives the secrets of a visit. Neither the URL nor the database alone is enough. */
export async function secretsOf(state: string, { salt }: Pick<Flow, 'salt'>): Promise<FlowSecrets> {
  const derive = (name: string) => calculatePKCECodeChallenge(`${name}.${salt}.${state}`)
  return { nonce: await derive('nonce'), codeVerifier: await derive('verifier') }
}

type Callback = { state: string | undefined; provider: Provider }

/** Finds the visit that a callback belongs to. @throws EndpointError `SIGN_IN_EXPIRED` */
export async function findFlow({ state, provider }: Callback, context: EndpointContext): Promise<Flow> {
  const { config, database } = context
  if (state === undefined) throw oauthError('SIGN_IN_EXPIRED')
  const query = withOwnTables(database.db).selectFrom('oauthFlow').selectAll()
  const ofState = query.where('id', '=', await hashSecret(state)).where('provider', '=', provider.id)
  const flow = await ofState.where('expiresAt', '>', config.now()).executeTakeFirst()
  if (flow === undefined) throw oauthError('SIGN_IN_EXPIRED')
  if (flow.browser === null) return flow
  const secret = readSecret(context, provider)
  if (secret === null || (await hashSecret(secret)) !== flow.browser) throw oauthError('SIGN_IN_EXPIRED')
  return flow
}

/** Ends a visit, before its code is used. @throws EndpointError `SIGN_IN_EXPIRED` if it was used */
export async function consumeFlow(callback: Callback, context: EndpointContext): Promise<Flow> {
  const flow = await findFlow(callback, context)
  const { numDeletedRows } = await context.change((trx) =>
    withOwnTables(trx).deleteFrom('oauthFlow').where('id', '=', flow.id).executeTakeFirst(),
  )
  if (numDeletedRows === 0n) throw oauthError('SIGN_IN_EXPIRED')
  return flow
}

function readSecret({ request, config }: EndpointContext, provider: Provider): string | null {
  return readCookie(request.header('cookie'), cookieName(config, provider))
}

/**
 * Without the domain of the other cookies: no other host may set it. A visit with a `Lax` cookie must not
 * replace a cookie that a posted callback needs.
 */
function cookieName({ cookies }: AuthConfig, provider: Provider): string {
  const { secure } = attributesOf(cookies, provider)
  const name = provider.responseMode === 'form_post' ? '.oauth-form' : '.oauth'
  return `${secure ? '__Host-' : ''}${cookies.jwt.replace(/\.jwt$/, name)}`
}

function flowCookie(secret: string, provider: Provider, config: AuthConfig): string {
  return setCookie(cookieName(config, provider), secret, {
    maxAgeSeconds: FLOW_SECONDS,
    ...attributesOf(config.cookies, provider),
  })
}

/** A posted callback comes with `SameSite=None` cookies only, which must be `Secure`. */
function attributesOf({ secure }: AuthConfig['cookies'], { responseMode }: Provider) {
  return responseMode === 'form_post'
    ? ({ secure: true, sameSite: 'none' } as const)
    : ({ secure, sameSite: 'lax' } as const)
}
