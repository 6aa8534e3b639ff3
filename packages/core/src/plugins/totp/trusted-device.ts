import { type KnownBrowsers, knownBrowsers } from '../known-browsers.ts'

/** Browsers that sign in without a code. */
export const trustedDevices: KnownBrowsers = knownBrowsers({ table: 'trustedDevice', suffix: '-trusted' })
