import { isTokenReason, type Route } from '@sallyport/core/internal/protocol'
import { type AuthClientError, clientError } from './auth-client-error.ts'
import type { ClientSession } from './client-session.ts'
import { ownPage } from './own-page.ts'
import { isTokenResponse } from './receipt.ts'
import { routeOf } from './route-of.ts'

/** Methods that don't depend on the former user. */
const SIGNS = /^sign(In|Up|Out)(?![a-z])/

/** Endpoints that may end the session of their caller, unless they respond with new tokens for it. */
const ENDS = /^(revokeSessions?|deleteUser|verifyEmail)$/

/** Programs read other names of any object, such as to await or print it. No name leads to another path. */
const METHODS = /^(?!(then|toJSON|constructor)$)\w+$/

/** Creates the methods of `client.api`, each when it is first read. */
export function callEndpoints<Methods>(
  session: ClientSession,
  routes: Readonly<Record<string, Route>> = {},
): Methods {
  return new Proxy(Object.create(null), {
    get(methods, symbol) {
      const name = String(symbol)
      if (METHODS.test(name))
        methods[name] ??= async (input: { redirectTo?: string } = {}) => {
          const route = routes[name] ?? routeOf(name)
          // From a provider, the server redirects to it.
          const loadsPage = SIGNS.test(name) && name !== 'signInOauth'
          const page = loadsPage && input.redirectTo !== undefined && ownPage(input.redirectTo)
          const response = await (name === 'signOut'
            ? signOut(session)
            : call(session, name, { ...route, input: page ? { ...input, redirectTo: undefined } : input }))
          if (page) location.assign(page)
          return response
        }
      return methods[name]
    },
  })
}

async function signOut(session: ClientSession): Promise<object> {
  const { status, error } = await session.signOut()
  if (status === 'unauthenticated') return { success: true }
  throw error ?? clientError('USER_CHANGED')
}

/** Makes a call, and repeats it if the JWT is rejected. Endpoints verify it first: nothing runs twice. */
async function call(
  session: ClientSession,
  name: string,
  request: Route & { input: object },
): Promise<object> {
  const isQuery = name !== 'token' && request.method === 'GET'
  const { userChanges } = session.getState()

  /** The cookies may be those of another user: after a wait, or until a refresh succeeds. */
  function requireSameUser(): void {
    const { isStale, shown } = session.get()
    if (shown.userChanges !== userChanges) throw clientError('USER_CHANGED')
    if (isStale && shown.error) throw shown.error
  }

  async function attempt(): Promise<object> {
    // The call may have waited for a refresh or another tab: the cookies may be those of another user.
    if (!SIGNS.test(name)) requireSameUser()
    return session.send(request)
  }

  await session.refreshDue()
  for (let isReplay = false; ; isReplay = true) {
    const { seq } = session.get()
    try {
      const response = await (isQuery ? attempt() : session.change(attempt))
      if (isQuery) requireSameUser()
      if (ENDS.test(name) && !isTokenResponse(response)) await session.refresh()
      return response
    } catch (error) {
      const { code } = error as AuthClientError
      session.report(code, userChanges)
      if (!isTokenReason(code) || session.server) throw error
      // A replay is repeated only if its JWT was superseded meanwhile.
      if (isReplay && !(await session.isSuperseded(seq))) throw error
      await session.refreshAfter(seq)
    }
  }
}
