import { createSession, type NewSessionOptions } from '../lifecycle/create-session.ts'
import { prepareTokens, type TokenResult } from '../lifecycle/prepare-tokens.ts'
import { AuthError } from '../protocol/errors.ts'
import { SECOND_FACTORS } from '../session/authentication-methods.ts'
import type { EndpointContext } from './endpoint.ts'
import { consumeChallenge, createChallenge, type OpenChallenge } from './sign-in-challenge.ts'

export type SignInOptions = Pick<
  NewSessionOptions,
  'acr' | 'amr' | 'authorize' | 'knownDevice' | 'rememberMe'
>

/**
 * Begins a session for a user who has just proved who they are, and responds with its tokens.
 * @throws AuthError `FACTOR_REQUIRED` with a `challenge` if the user has a second factor that `amr` lacks
 */
export async function beginSession(
  userId: string,
  context: EndpointContext,
  options: SignInOptions = {},
): Promise<TokenResult> {
  const { config, database, address, request, sessionCookie: replaces } = context
  const methods = await missingFactors(userId, context, options)
  if (methods.length > 0) {
    const challenge = await createChallenge({ userId, methods, ...options }, context)
    throw new AuthError('FACTOR_REQUIRED', { challenge })
  }
  const id = crypto.randomUUID()
  const issue = await prepareTokens({ id, userId }, context)
  const browser = { address, userAgent: request.header('user-agent'), replaces }
  return issue(await createSession(database, { ...options, ...browser, id, userId, config }))
}

/** Completes a sign-in whose second factor the user has just proved by this method. */
export async function completeSignIn(
  { id, userId, amr, acr, rememberMe, authorize }: OpenChallenge & Pick<SignInOptions, 'authorize'>,
  method: string,
  context: EndpointContext,
): Promise<TokenResult> {
  const { body, cookies } = await beginSession(userId, context, {
    acr,
    amr: [...amr, method],
    rememberMe,
    async authorize(trx) {
      await authorize?.(trx)
      await consumeChallenge(trx, id)
    },
  })
  const more = await Promise.all(context.afterSecondFactor.map((run) => run(userId, context)))
  return { body, cookies: [...cookies, ...more.flat()] }
}

/** Returns the methods one of which must complete the sign-in; empty if it is complete. */
async function missingFactors(
  userId: string,
  context: EndpointContext,
  { amr = [] }: SignInOptions,
): Promise<string[]> {
  if (amr.some((method) => SECOND_FACTORS.includes(method))) return []
  const methods: string[] = []
  let isRequired = false
  for (const factor of context.secondFactors) {
    const own = await factor.methodsOf(userId, context.database.db)
    if (own.length > 0 && (await factor.isTrusted?.(userId, context))) return []
    if (own.length > 0 && factor.isRequired !== false) isRequired = true
    methods.push(...own)
  }
  return isRequired ? methods : []
}
