import { authedAction } from '../authed-action.ts'

/** Returns the caller's username, providers (a password is one), passkeys, and authenticator app. */
export const waysToSignIn = authedAction.query(async ({ ctx: { auth } }) => {
  const [{ username }, { accounts }, { passkeys }, { enabledAt, recoveryCodes }] = await Promise.all([
    auth.api.getUsername(),
    auth.api.listAccounts(),
    auth.api.listPasskeys(),
    auth.api.getTotp(),
  ])
  return { username, accounts, passkeys, totp: { enabledAt, recoveryCodes } }
})
