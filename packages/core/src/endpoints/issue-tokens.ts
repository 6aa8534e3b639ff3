import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import { createSession, type NewSessionOptions } from '../lifecycle/create-session.ts'
import { prepareTokens, type TokenResult } from '../lifecycle/prepare-tokens.ts'
import { isEndpointError } from '../protocol/endpoint-error.ts'
import { AuthError } from '../protocol/errors.ts'
import { SECOND_FACTORS } from '../session/authentication-methods.ts'
import { isKnownBrowser, rememberBrowser } from './browser-memory.ts'
import type { EndpointContext } from './endpoint.ts'
import { recordBan } from './record-ban.ts'
import { consumeChallenge, createChallenge, type OpenChallenge } from './sign-in-challenge.ts'

export interface SignInOptions extends Pick<NewSessionOptions, 'acr' | 'amr' | 'authorize' | 'rememberMe'> {
  /** What to do with an unknown browser. After `report`, it is remembered too. @default 'report' */
  unknownBrowser?: 'report' | 'remember' | 'ignore'
}

/**
 * Begins a session for a user who has just proved who they are, and responds with its tokens.
 * @throws AuthError `FACTOR_REQUIRED` with a `challenge` if the user has a second factor that `amr` lacks
 */
export function beginSession(
  userId: string,
  context: EndpointContext,
  options: SignInOptions = {},
): Promise<TokenResult> {
  return begin(userId, context, options).catch(recordBan(async () => userId, context))
}

async function begin(
  userId: string,
  context: EndpointContext,
  { unknownBrowser = 'report', ...options }: SignInOptions,
): Promise<TokenResult> {
  const { config, database, address, request, sessionCookie: replaces } = context
  const remembering = unknownBrowser === 'ignore' ? { ...context, browsers: [] } : context
  const knownDevice = await isKnownBrowser(userId, remembering)
  const report = () => {
    if (unknownBrowser !== 'report' || knownDevice === true) return
    for (const memory of context.browsers) memory.report?.(userId, context)
  }
  const methods = await missingFactors(userId, options, context, database.db)
  if (methods.length > 0) {
    const challenge = await createChallenge({ userId, methods, ...options }, context)
    // The first factor was right, so its owner gets an email even if the second one never follows.
    report()
    throw new AuthError('FACTOR_REQUIRED', { challenge })
  }
  const id = crypto.randomUUID()
  const issue = await prepareTokens({ id, userId }, context)
  const browser = { address, userAgent: request.header('user-agent'), replaces, knownDevice }
  let isComplete = true
  const session = await createSession(database, {
    ...options,
    ...browser,
    id,
    userId,
    config,
    async authorize(trx) {
      await options.authorize?.(trx)
      // The user may have added a factor meanwhile.
      isComplete = (await missingFactors(userId, options, context, trx)).length === 0
      if (!isComplete) throw new AuthError('FACTOR_REQUIRED')
    },
  }).catch((error: unknown) => {
    if (isEndpointError(error) && error.code === 'TOO_MANY_SESSIONS') report()
    if (isComplete) throw error
    return null
  })
  if (session === null) return begin(userId, context, { unknownBrowser, ...options })
  const { body, cookies } = await issue(session)
  report()
  const known = await rememberBrowser({ userId, sessionId: id }, remembering)
  return { body, cookies: [...cookies, ...known] }
}

/** Completes a sign-in whose second factor the user has just proved by this method. */
export async function completeSignIn(
  { id, userId, amr, acr, rememberMe, authorize }: OpenChallenge & Pick<SignInOptions, 'authorize'>,
  method: string,
  context: EndpointContext,
): Promise<TokenResult> {
  return beginSession(userId, context, {
    acr,
    amr: [...amr, method],
    rememberMe,
    // The first factor has reported it.
    unknownBrowser: 'remember',
    async authorize(trx) {
      await authorize?.(trx)
      await consumeChallenge(trx, id)
    },
  })
}

/** Returns the methods one of which must complete the sign-in; empty if it is complete. */
async function missingFactors(
  userId: string,
  { amr = [] }: Pick<SignInOptions, 'amr'>,
  context: EndpointContext,
  db: AuthKysely,
): Promise<string[]> {
  if (amr.some((method) => SECOND_FACTORS.includes(method))) return []
  const methods: string[] = []
  let isRequired = false
  for (const factor of context.secondFactors) {
    const own = await factor.methodsOf(userId, db)
    if (own.length > 0 && (await factor.isTrusted?.(userId, context, db))) return []
    if (own.length > 0 && factor.isRequired !== false) isRequired = true
    methods.push(...own)
  }
  return isRequired ? methods : []
}
