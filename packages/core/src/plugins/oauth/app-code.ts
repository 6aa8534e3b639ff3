import { calculatePKCECodeChallenge } from 'openid-client'
import * as z from 'zod/mini'
import { defineEndpoint, type Endpoint, type EndpointContext } from '../../endpoints/endpoint.ts'
import { beginSession } from '../../endpoints/issue-tokens.ts'
import { tokens } from '../../endpoints/plain-schemas.ts'
import { ENDPOINTS, type TokenResponse } from '../../protocol.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { countAddress, giveBackAddress } from './attempts.ts'
import { oauthError } from './errors.ts'
import { type LinkedAccount, requireAccount } from './find-user.ts'
import type { Flow } from './flow.ts'
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

/** Creates the code for a deep link. Another app can receive the link, but doesn't have the verifier. */
export async function createAppCode(
  { account, methods, acr, codeChallenge, flow }: NewCode,
  { config, change }: EndpointContext,
): Promise<string> {
  const code = createSecret()
  const id = await hashSecret(code)
  const expiresAt = new Date(config.now().getTime() + LIFETIME_SECONDS * 1000)
  const proof = { amr: JSON.stringify(methods), acr, remembered: Boolean(flow.remembered) }
  const row = { id, accountId: account.id, codeChallenge, ...proof, expiresAt }
  await change(async (trx) => {
    await withOwnTables(trx).insertInto('oauthCode').values(row).execute()
  })
  return code
}

export interface SignInOauthCodeInput {
  /** From the deep link. */
  code: string
  /** The verifier whose S256 was `codeChallenge` (RFC 7636). */
  codeVerifier: string
}

/** Completes the sign-in of an app. */
export function signInOauthCode(settings: Settings): Endpoint<SignInOauthCodeInput, TokenResponse, true> {
  return defineEndpoint({
    ...ENDPOINTS.signInOauthCode,
    caller: 'anyone',
    setsCookies: true,
    input: z.strictObject({
      code: z.string().check(z.minLength(1), z.maxLength(128)),
      codeVerifier: z.string().check(z.regex(/^[\w.~-]{43,128}$/)),
    }),
    output: tokens,
    async run({ code, codeVerifier }, context) {
      await countAddress('code', context, settings)
      const id = await hashSecret(code)
      // One attempt: a wrong verifier means that the code is in the wrong hands.
      const found = await context.change(async (trx) => {
        const codes = withOwnTables(trx)
        const row = await codes.deleteFrom('oauthCode').where('id', '=', id).returningAll().executeTakeFirst()
        if (row === undefined) return null
        const accounts = trx.selectFrom('account').select(['id', 'userId']).where('id', '=', row.accountId)
        const account = await accounts.executeTakeFirst()
        return account === undefined ? null : { row, account }
      })
      if (found === null) throw oauthError('SIGN_IN_EXPIRED')
      const { row, account } = found
      const isOfApp = (await calculatePKCECodeChallenge(codeVerifier)) === row.codeChallenge
      if (!isOfApp || !(new Date(row.expiresAt) > context.config.now())) throw oauthError('SIGN_IN_EXPIRED')
      const session = await beginSession(account.userId, context, {
        amr: z.parse(z.array(z.string()), JSON.parse(row.amr)),
        acr: row.acr,
        rememberMe: Boolean(row.remembered),
        authorize: (trx) => requireAccount(trx, account),
      })
      await giveBackAddress(['code'], context, settings)
      return session
    },
  })
}
