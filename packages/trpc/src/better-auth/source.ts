import { getCookies } from 'better-auth/cookies'
import type { BetterAuth, BetterAuthContext } from './instance.ts'

/** The part of `betterAuth()` that every source has. */
type LoadableAuth = Pick<BetterAuth, 'options' | '$context'>

/** Better Auth's context, which it creates asynchronously. */
export interface BetterAuthSource<Auth extends LoadableAuth = LoadableAuth> {
  readonly auth: Auth
  /** Undefined until it exists. */
  readonly current: BetterAuthContext | undefined
  load(): Promise<BetterAuthContext>
  /** The name of the session cookie, with its prefix. */
  cookieName(): string
}

export function createSource<Auth extends LoadableAuth>(auth: Auth): BetterAuthSource<Auth> {
  let current: BetterAuthContext | undefined
  let fallbackName: string | undefined
  return {
    auth,
    get current() {
      return current
    },
    async load() {
      current ??= await auth.$context
      return current
    },
    cookieName() {
      if (current !== undefined) return current.authCookies.sessionToken.name
      fallbackName ??= getCookies(auth.options).sessionToken.name
      return fallbackName
    },
  }
}
