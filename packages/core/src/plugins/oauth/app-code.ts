import { calculatePKCECodeChallenge } from 'openid-client'
import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { oneTimeToken, tokens } from '../../endpoints/plain-schemas.ts'
import { renewSession, requireSessionSecret } from '../../endpoints/renew-session.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { countAddress, giveBackAttempt } from './attempts.ts'
import { oauthError } from './errors.ts'
import { type LinkedAccount, lockAccount, requireAccount } from './find-user.ts'
import type { Finished, Flow } from './flow.ts'
import { withParameter } from './redirect-target.ts'
import type { Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

const LIFETIME_SECONDS = 60

interface NewCode {
  readonly account: LinkedAccount
  readonly methods: readonly string[]
  readonly acr: string | null
  readonly codeChallenge: string
  readonly flow: Flow
}

/**
 * Creates the deep link with a code, for a visit that an app completes. Another app can receive the link, but
 * doesn't have the verifier.
 */
export async function redirectToApp(
  { account, methods, acr, codeChallenge, flow }: NewCode,
  { config, change }: EndpointContext,
): Promise<Finished> {
  const code = createSecret()
  const id = await hashSecret(code)
  const expiresAt = new Date(config.now().getTime() + LIFETIME_SECONDS * 1000)
  const { sessionId, redirectTo } = flow
  const proof = { amr: JSON.stringify(methods), acr, remembered: Boolean(flow.remembered), sessionId }
  const row = { id, accountId: account.id, codeChallenge, ...proof, expiresAt }
  await change(async (trx) => {
    await lockAccount(trx, account)
    await withOwnTables(trx).insertInto('oauthCode').values(row).execute()
  })
  return { redirect: withParameter(redirectTo, 'code', code), cookies: [] }
}

export interface OauthCodeInput {
  /** From the deep link. */
  code: string
  /** The verifier whose S256 was `codeChallenge` (RFC 7636). */
  codeVerifier: string
}

const input = z.strictObject({
  code: oneTimeToken,
  codeVerifier: z.string().check(z.regex(/^[\w.~-]{43,128}$/)),
})

/** Completes the sign-in of an app. */
export function signInOauthCode(settings: Settings): Endpoint<OauthCodeInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInOauthCode,
    caller: 'anyone',
    setsCookies: true,
    input,
    output: tokens,
    async run(sent, context) {
      const { account, methods, acr, rememberMe } = await consumeCode(
        { ...sent, sessionId: null },
        context,
        settings,
      )
      // Before the second factor, whose absence is an error.
      await giveBackAttempt(['code'], context, settings)
      return beginSession(account.userId, context, {
        amr: methods,
        acr,
        rememberMe,
        unknownBrowser: account.isNew ? 'remember' : 'report',
        authorize: (trx) => requireAccount(trx, account),
      })
    },
  })
}

/** Completes the re-authentication of an app, in the session that began it. */
export function reauthenticateOauthCode(settings: Settings): Endpoint<OauthCodeInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.reauthenticateOauthCode,
    caller: 'user',
    setsCookies: true,
    input,
    output: tokens,
    async run(sent, context) {
      // Before the code is used: a copy of the JWT must not end it.
      await requireSessionSecret(context)
      const { sessionId } = context.identity
      const { account, methods } = await consumeCode({ ...sent, sessionId }, context, settings)
      const work = (trx: AuthTransaction) => requireAccount(trx, account)
      const renewed = await renewSession(context, { cause: 'reauthenticated', methods, work })
      await giveBackAttempt(['code'], context, settings)
      return renewed
    },
  })
}

/**
 * Deletes a code, and returns the account and the methods that it proves.
 * @throws EndpointError `SIGN_IN_EXPIRED`, also for the code of another session
 */
async function consumeCode(
  { code, codeVerifier, sessionId }: OauthCodeInput & { sessionId: string | null },
  context: EndpointContext,
  settings: Settings,
) {
  await countAddress('code', context, settings)
  const id = await hashSecret(code)
  // One attempt: a wrong verifier means that the code is in the wrong hands.
  const found = await context.change(async (trx) => {
    const codes = withOwnTables(trx)
    const row = await codes.deleteFrom('oauthCode').where('id', '=', id).returningAll().executeTakeFirst()
    if (row === undefined) return null
    const account = await trx
      .selectFrom('account')
      .innerJoin('user', 'user.id', 'account.userId')
      .select(['account.id', 'account.userId', 'user.createdAt'])
      .where('account.id', '=', row.accountId)
      .executeTakeFirst()
    return account === undefined ? null : { row, account }
  })
  if (found === null) throw oauthError('SIGN_IN_EXPIRED')
  const { row, account } = found
  const isOfApp = (await calculatePKCECodeChallenge(codeVerifier)) === row.codeChallenge
  const isInTime = new Date(row.expiresAt) > context.config.now()
  if (!isOfApp || !isInTime || row.sessionId !== sessionId) throw oauthError('SIGN_IN_EXPIRED')
  const methods = z.parse(z.array(z.string()), JSON.parse(row.amr))
  // The visit to the provider created the user, right before the code.
  const age = new Date(row.expiresAt).getTime() - new Date(account.createdAt).getTime()
  const isNew = age < 2 * LIFETIME_SECONDS * 1000
  const { id: accountId, userId } = account
  return {
    account: { id: accountId, userId, isNew },
    methods,
    acr: row.acr,
    rememberMe: Boolean(row.remembered),
  }
}
