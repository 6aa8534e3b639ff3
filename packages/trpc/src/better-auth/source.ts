import { getCookies } from 'better-auth/cookies'
import type { BetterAuth, BetterAuthContext } from './instance.ts'

/** Better Auth's context, which it creates asynchronously. */
export interface BetterAuthSource {
  readonly auth: Pick<BetterAuth, 'options' | '$context'>
  /** Undefined until Better Auth has created it. */
  readonly current: BetterAuthContext | undefined
  load(): Promise<BetterAuthContext>
  /** The name of the session cookie, with its prefix. */
  cookieName(): string
}

export function createSource(auth: BetterAuthSource['auth']): BetterAuthSource {
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
