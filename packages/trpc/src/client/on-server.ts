/** Returns whether this isn't a browser, a browser's worker, or React Native. */
export function isOnServer(): boolean {
  return !globalThis.window && !globalThis.location
}
