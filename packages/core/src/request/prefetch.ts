import type { HeaderReader } from './credentials.ts'

/** Returns whether a browser fetches ahead: the user may never open the page. */
export function isPrefetch(header: HeaderReader): boolean {
  return NAMES.some((name) => header(name)?.toLowerCase().includes('prefetch'))
}

const NAMES = ['sec-purpose', 'purpose', 'x-moz']
