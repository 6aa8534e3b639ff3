import { type KnownBrowsers, knownBrowsers } from '../known-browsers.ts'

export const BROWSER_LIFETIME_SECONDS: number = 180 * 24 * 60 * 60

/** Browsers that have signed in by code. */
export const signedInBrowsers: KnownBrowsers = knownBrowsers('emailCodeBrowser', 'email')
