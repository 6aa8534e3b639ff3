import type { BrowserMemory } from '../../endpoints/endpoint.ts'
import { type KnownBrowsers, knownBrowsers, signInMemory } from '../known-browsers.ts'

/** Browsers that have signed in. */
export const signedInBrowsers: KnownBrowsers = knownBrowsers({ table: 'emailCodeBrowser', suffix: '-email' })

export const browsers: BrowserMemory = signInMemory(signedInBrowsers)
