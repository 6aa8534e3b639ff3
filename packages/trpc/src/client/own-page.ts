import { clientError } from './auth-client-error.ts'

/** Returns the URL of a page of this origin, or throws. */
export function ownPage(redirectTo: string): string {
  try {
    const page = new URL(redirectTo, location.href).href
    if (page.startsWith(`${location.origin}/`)) return page
  } catch {
    // Not a URL, or not a browser.
  }
  throw clientError('REDIRECT_REJECTED')
}
