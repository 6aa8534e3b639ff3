import { getCookies } from 'better-auth/cookies'
import type { BetterAuth, BetterAuthContext } from './instance.ts'

/** The part of `betterAuth()` that every source has. */
type LoadableAuth = Pick<BetterAuth, 'options' | '$context'>

/** Better Auth's context, which it creates asynchronously. */
export interface BetterAuthSource<Auth extends LoadableAuth = LoadableAuth> {
  readonly auth: Auth
  /** Undefined until Better Auth has created it. */
  readonly current: BetterAuthContext | undefined
  load(): Promise<BetterAuthContext>
  /** The name of the session cookie, with its prefix. A plugin may change it until `load` returns. */
  cookieName(): string
}

/** @param onLoad is called once, before the first `load` returns */
export function createSource<Auth extends LoadableAuth>(
  auth: Auth,
  onLoad: (context: BetterAuthContext) => void = () => {},
): BetterAuthSource<Auth> {
  let current: BetterAuthContext | undefined
  let fallbackName: string | undefined
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
      if (current !== undefined) return current.authCookies.sessionToken.name
      // As Better Auth does, which also reads its own variable. The URL decides about the prefix.
      const { baseURL = process.env.BETTER_AUTH_URL } = auth.options
      fallbackName ??= getCookies({ ...auth.options, ...(baseURL && { baseURL }) }).sessionToken.name
      return fallbackName
    },
  }
}

/** Returns whether the database has the sessions. Otherwise, only a secondary storage has them. */
export function keepsRows({ options }: Pick<BetterAuth, 'options'>): boolean {
  return options.secondaryStorage === undefined || options.session?.storeSessionInDatabase === true
}
