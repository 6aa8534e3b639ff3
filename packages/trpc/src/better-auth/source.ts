import { AuthError } from '@sallyport/core'
import type { BetterAuth, BetterAuthContext } from './instance.ts'

/** The part of `betterAuth()` that every source has. */
type LoadableAuth = Pick<BetterAuth, 'options' | '$context'>

/** Better Auth's context, which it creates asynchronously. */
export interface BetterAuthSource<Auth extends LoadableAuth = LoadableAuth> {
  readonly auth: Auth
  /** Undefined until Better Auth has created it. */
  readonly current: BetterAuthContext | undefined
  load(): Promise<BetterAuthContext>
  /**
   * The name of the session cookie, with its prefix. A plugin may change it until `load` returns.
   * @throws AuthError `SESSIONS_UNAVAILABLE` before that
   */
  cookieName(): string
}

/** @param onLoad is called once, before the first `load` returns */
export function createSource<Auth extends LoadableAuth>(
  auth: Auth,
  onLoad: (context: BetterAuthContext) => void = () => {},
): BetterAuthSource<Auth> {
  let current: BetterAuthContext | undefined
  return {
    auth,
    get current() {
      return current
    },
    async load() {
      const context = current ?? (await auth.$context)
      if (current === undefined) onLoad(context)
      current = context
      return context
    },
    cookieName() {
      if (current === undefined) throw new AuthError('SESSIONS_UNAVAILABLE')
      return current.authCookies.sessionToken.name
    },
  }
}

/** Returns whether the database has the sessions. Otherwise, only a secondary storage has them. */
export function keepsRows({ options }: Pick<BetterAuth, 'options'>): boolean {
  return options.secondaryStorage === undefined || options.session?.storeSessionInDatabase === true
}
