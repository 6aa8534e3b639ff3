import { clientError } from './auth-client-error.ts'

/** Returns the URL of a page of this origin, or throws. */
export function ownPage(redirectTo: string): string {
  try {
    const { href, origin } = document.location
    const page = new URL(redirectTo, href).href
    if (page.startsWith(`${origin}/`)) return page
  } catch {
    // Not a URL, or not a browser.
  }
  throw clientError('REDIRECT_REJECTED')
}
