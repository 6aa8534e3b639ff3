import type { BrowserMemory } from '../../endpoints/endpoint.ts'
import { type KnownBrowsers, knownBrowsers } from '../known-browsers.ts'

const LIFETIME_SECONDS = 180 * 24 * 60 * 60

/** Browsers that have signed in. */
export const signedInBrowsers: KnownBrowsers = knownBrowsers('emailCodeBrowser', 'email')

/** Remembers browsers for 180 days. */
export const browsers: BrowserMemory = {
  isKnown: async (userId, context) => (await signedInBrowsers.find(userId, context)) !== null,
  remember: (session, context) =>
    signedInBrowsers.remember({ ...session, seconds: LIFETIME_SECONDS }, context),
  forget: (userId, trx) => signedInBrowsers.forget(trx, userId),
}
