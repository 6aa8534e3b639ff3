import * as z from 'zod/mini'
import {
  type AuthorizedContext,
  defineEndpoint,
  type Endpoint,
  type EndpointContext,
} from '../../endpoints/endpoint.ts'
import { requireSessionSecret } from '../../endpoints/renew-session.ts'
import { requireSecondFactor } from '../../endpoints/require-second-factor.ts'
import { reject } from '../../protocol/endpoint-error.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { ENDPOINTS } from '../../protocol.ts'
import { countAddress } from './attempts.ts'
import { toAuthorizationUrl } from './authorization-url.ts'
import { oauthError } from './errors.ts'
import { createFlow, type NewFlow } from './flow.ts'
import { requireTarget, resolveTarget } from './redirect-target.ts'
import type { Settings } from './settings.ts'

export interface BeginOauthInput<Name extends string = string> {
  /** The name of a provider, such as `github`. */
  provider: Name
  /** Where to return: a path of the app, or one of `redirects`. */
  redirectTo: string
  /** The page that gets `?error=CODE`. @default the page that called, or `redirectTo` */
  errorTo?: string
}

export interface AppOauthInput<Name extends string = string> extends BeginOauthInput<Name> {
  /**
   * For an app: S256 of a random verifier (RFC 7636). `redirectTo`, which must be in `redirects`, then gets
   * `?code=`. The app sends it with the verifier to `signInOauthCode`, or to `reauthenticateOauthCode`.
   */
  codeChallenge?: string
}

export interface SignInOauthInput<Name extends string = string> extends AppOauthInput<Name> {
  /** If false, the cookies expire with the browser session, and the session after a day. @default true */
  rememberMe?: boolean
}

export interface OauthUrlResponse {
  /** The provider's page. Open it in this browser. */
  url: string
}

const target = z.string().check(z.minLength(1), z.maxLength(2_048))
const challenge = z.exactOptional(z.string().check(z.regex(/^[\w-]{43}$/)))
const output = z.object({ url: z.string() })

function fieldsFor({ providers }: Settings) {
  return { provider: z.enum(Object.keys(providers)), redirectTo: target, errorTo: z.exactOptional(target) }
}

/** Begins a sign-in at a provider. */
export function signInOauth(settings: Settings): Endpoint<SignInOauthInput, OauthUrlResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInOauth,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({
      ...fieldsFor(settings),
      rememberMe: z.exactOptional(z.boolean()),
      codeChallenge: challenge,
    }),
    output,
    async run({ rememberMe: remembered = true, codeChallenge = null, ...input }, context) {
      await countAddress('start', context, settings)
      // Without cookies, only the verifier ties the sign-in to its app.
      if (context.sessionTransport === 'header' && codeChallenge === null) throw invalid('codeChallenge')
      return begin(input, { purpose: 'sign-in', remembered, codeChallenge }, context, settings)
    },
  })
}

/** Begins to link a provider to the caller's account. */
export function linkAccount(settings: Settings): Endpoint<BeginOauthInput, OauthUrlResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.linkAccount,
    caller: 'fresh-user',
    setsCookies: true,
    input: z.strictObject(fieldsFor(settings)),
    output,
    async run(input, context) {
      if (context.sessionTransport === 'header') throw oauthError('BROWSER_REQUIRED')
      const session = await requireOwner(context, settings)
      await requireSecondFactor(context)
      return begin(input, { purpose: 'link', codeChallenge: null, ...session }, context, settings)
    },
  })
}

/** Begins to confirm at a linked provider that it is the user. */
export function reauthenticateOauth(settings: Settings): Endpoint<AppOauthInput, OauthUrlResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticateOauth,
    caller: 'user',
    setsCookies: true,
    input: z.strictObject({ ...fieldsFor(settings), codeChallenge: challenge }),
    output,
    async run({ codeChallenge = null, ...input }, context) {
      // With cookies, the visit must end in the browser that began it.
      if ((context.sessionTransport === 'header') !== (codeChallenge !== null)) throw invalid('codeChallenge')
      const session = await requireOwner(context, settings)
      if (settings.providers[input.provider]?.isOpenId !== true)
        throw oauthError('REAUTHENTICATION_UNSUPPORTED')
      const linked = context.database.db
        .selectFrom('account')
        .select('id')
        .where('userId', '=', session.userId)
      const account = await linked.where('providerId', '=', input.provider).executeTakeFirst()
      if (account === undefined) throw oauthError('ACCOUNT_NOT_FOUND')
      return begin(input, { purpose: 'reauthenticate', codeChallenge, ...session }, context, settings)
    },
  })
}

const invalid = (field: string) => reject('INVALID_INPUT', { fields: [field] })

/** Returns the session that a callback must belong to. */
async function requireOwner(context: AuthorizedContext, { limits }: Settings) {
  const { userId, sessionId, version } = context.identity
  await context.limit(`oauth:user:${userId}`, limits.user)
  await requireSessionSecret(context)
  return { userId, sessionId, version }
}

async function begin(
  input: BeginOauthInput,
  beginning: Omit<NewFlow, 'redirectTo' | 'errorTo'>,
  context: EndpointContext,
  { providers, redirects }: Settings,
) {
  const { config, request } = context
  const provider = providers[input.provider]
  if (provider === undefined) throw invalid('provider')
  if (config.cookies.sameSite === 'none' && beginning.codeChallenge === null)
    throw new ConfigurationError(
      "oauth() doesn't work with cookieSameSite: 'none': browsers keep separate cookies for the callback. Serve the API on the site of the app.",
    )
  const targets = { config, redirects }
  const redirectTo = requireTarget('redirectTo', input.redirectTo, targets)
  // Other pages may leak a code.
  if (beginning.codeChallenge !== null && !redirects.includes(redirectTo)) throw invalid('redirectTo')
  const caller = resolveTarget(request.header('referer') ?? '', targets)
  const errorTo =
    input.errorTo === undefined ? (caller ?? redirectTo) : requireTarget('errorTo', input.errorTo, targets)
  // Before the row exists: the provider may not respond.
  const metadata = await provider.connect()
  const flow = await createFlow({ ...beginning, redirectTo, errorTo }, provider, context)
  const url = await toAuthorizationUrl(metadata, flow, { provider, config, purpose: beginning.purpose })
  return { body: { url: url.href }, cookies: flow.cookies }
}
