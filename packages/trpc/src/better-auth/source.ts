import { getCookies } from 'better-auth/cookies'
import type { BetterAuth, BetterAuthContext } from './instance.ts'

/** Better Auth's context, which it creates asynchronously. */
export interface BetterAuthSource {
  readonly auth: BetterAuth
  /** Undefined until Better Auth has created it. */
  readonly current: BetterAuthContext | undefined
  load(): Promise<BetterAuthContext>
  /** The name of the session cookie, with its prefix. */
  cookieName(): string
}

/** @param onLoad is called once, before the first `load` returns */
export function createSource(
  auth: BetterAuth,
  onLoad: (context: BetterAuthContext) => void,
): BetterAuthSource {
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
      fallbackName ??= getCookies(auth.options).sessionToken.name
      return fallbackName
    },
  }
}

/** Returns whether sessions are rows of the database, and not only in a secondary storage. */
export function keepsRows({ options }: BetterAuth): boolean {
  return options.secondaryStorage === undefined || options.session?.storeSessionInDatabase === true
}
