import { type KnownBrowsers, knownBrowsers } from '../known-browsers.ts'

/** How long a browser is known. */
export const BROWSER_SECONDS: number = 180 * 24 * 60 * 60

/** Browsers that have signed in by code. */
export const signedInBrowsers: KnownBrowsers = knownBrowsers('emailCodeBrowser', 'email')
