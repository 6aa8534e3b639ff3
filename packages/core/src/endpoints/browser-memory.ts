import type { EndpointContext } from './endpoint.ts'

/**
 * Returns whether the browser has signed in to the account before; null if no plugin remembers browsers, and
 * for a program with the session header.
 * @param userId null for an account that doesn't exist yet
 * @throws AuthError `COOKIE_CONFLICT` if a cookie of a plugin is sent twice
 */
export async function isKnownBrowser(
  userId: string | null,
  context: EndpointContext,
): Promise<boolean | null> {
  const { browsers, sessionTransport } = context
  if (browsers.length === 0 || sessionTransport === 'header') return null
  const known = await Promise.all(browsers.map((memory) => memory.isKnown(userId, context)))
  return known.includes(true)
}

/** Returns the cookies by which the plugins know the browser of a session from now on. */
export async function rememberBrowser(
  session: { readonly userId: string; readonly sessionId: string },
  context: EndpointContext,
): Promise<string[]> {
  const cookies: string[] = []
  for (const memory of context.browsers)
    cookies.push(...(await orNone(memory.remember(session, context), context)))
  return cookies
}

/** Returns the cookies; none, with a report, if the browser can't be remembered: the session has begun. */
export function orNone(
  cookies: Promise<readonly string[]>,
  { later }: Pick<EndpointContext, 'later'>,
): Promise<readonly string[]> {
  return cookies.catch((error: unknown) => {
    later(() => Promise.reject(error))
    return []
  })
}
