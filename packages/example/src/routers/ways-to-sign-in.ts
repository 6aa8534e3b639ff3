import { authedAction } from '../authed-action.ts'

/** Returns the caller's accounts at providers with their password, passkeys, and authenticator app. */
export const waysToSignIn = authedAction.query(async ({ ctx: { auth } }) => {
  const [{ accounts }, { passkeys }, { enabledAt, recoveryCodes }] = await Promise.all([
    auth.api.listAccounts(),
    auth.api.listPasskeys(),
    auth.api.getTotp(),
  ])
  return { accounts, passkeys, totp: { enabledAt, recoveryCodes } }
})
