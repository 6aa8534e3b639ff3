import type { SignInChallenge } from '@sallyport/core/internal/protocol'
import type { AuthClient } from './auth-client.ts'
import { AuthClientError } from './auth-client-error.ts'
import { clientSession } from './client-session.ts'
import { ownPage } from './own-page.ts'
import { routeOf } from './route-of.ts'
import type { AuthState } from './session-state.ts'

/** The pages where a visit to a provider ends: pass them to the endpoint. */
export interface PopupPages {
  readonly redirectTo: string
  readonly errorTo: string
}

const POLL_MS = 100

/**
 * Visits a provider in a pop-up: signs in, links an account, or confirms who the user is. The page stays
 * open. Call it in the handler of a click, because browsers block other pop-ups.
 *
 * @param begin calls `signInOauth`, `linkAccount`, or `reauthenticateOauth` with the pages
 * @param page an empty page of this origin without `Cross-Origin-Opener-Policy`, where the pop-up ends
 * @returns the state of the client, with the credentials that the server has set. That doesn't prove that
 * anything changed: the provider can open the page too.
 * @throws AuthClientError with the server's code; `POPUP_BLOCKED`; or `SIGN_IN_CANCELED`, if the user closes
 * the pop-up. Its status is 400 and its message is generic: show a text for each code.
 * @example
 * await openPopup(authClient, (pages) => authClient.api.signInOauth({ provider: 'github', ...pages }))
 */
export async function openPopup(
  client: Pick<AuthClient, typeof clientSession>,
  begin: (pages: PopupPages) => Promise<{ readonly url: string }>,
  page = '/popup.html',
): Promise<AuthState> {
  const target = ownPage(page)
  // Before the first `await`: browsers block pop-ups that a click doesn't open directly.
  const popup = window.open('', '_blank', 'popup,width=500,height=700')
  if (popup === null) throw error('POPUP_BLOCKED', 'The browser blocked the pop-up. Allow it and try again.')
  // The provider's page could otherwise load another page here.
  popup.opener = null
  const session = client[clientSession]
  try {
    const { url } = await begin({ redirectTo: target, errorTo: target })
    popup.location.assign(url)
    const end = await returned(popup, new URL(target))
    if (end === null) {
      // It may have signed in before it was closed.
      await session.refresh()
      throw error('SIGN_IN_CANCELED', 'The pop-up was closed before it finished. Try again.')
    }
    throwError(end)
  } finally {
    popup.close()
  }
  await session.change(() => session.send(routeOf('token')))
  return session.getState()
}

/** Waits until the pop-up shows the page, and returns its URL; null if the pop-up was closed. */
async function returned(popup: Window, { origin, pathname }: URL): Promise<URL | null> {
  while (!popup.closed) {
    try {
      const url = new URL(popup.location.href)
      if (url.origin === origin && url.pathname === pathname) return url
    } catch {
      // It shows a page of another origin.
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return null
}

/** Throws the error in the URL. The provider can open any of our URLs, so it isn't shown as text. */
function throwError({ searchParams, hash }: URL): void {
  const code = searchParams.get('error')
  if (code === null) return
  const { challenge: token, methods = '', expiresIn } = Object.fromEntries(new URLSearchParams(hash.slice(1)))
  const challenge = token && { token, methods: methods.split(' '), expiresIn: Number(expiresIn) }
  throw error(
    /^[A-Z_]+$/.test(code) ? code : 'UNKNOWN',
    'The provider reported an error. Start again.',
    challenge,
  )
}

/** Apps without pop-ups don't load these messages. */
function error(code: string, message: string, challenge?: SignInChallenge | ''): AuthClientError {
  return new AuthClientError(400, { code, message, ...(challenge && { challenge }) })
}
