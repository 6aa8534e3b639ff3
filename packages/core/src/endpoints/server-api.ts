import type { TokenResponse } from '../protocol.ts'
import { type ApiOptions, type ApiResult, toEndpointRequest, toHeaders } from './api.ts'
import { withTransport } from './call-endpoint.ts'
import { createContext, type EndpointServer } from './create-context.ts'
import { beginSession } from './issue-tokens.ts'

export interface CreateSessionInput {
  /** A user who has proved who they are. */
  readonly userId: string
  /** If false, the session ends with the browser, or after a day. @default true */
  readonly rememberMe?: boolean
}

/** Methods of `auth.api` without an endpoint. The app's own code decides who may call them. */
export interface ServerApi {
  /**
   * Begins a session for a user who has authenticated elsewhere: with OAuth, a passkey, or SAML. Add the
   * returned headers, which set the cookies, to the response.
   *
   * @throws EndpointError `USER_NOT_FOUND` or `TOO_MANY_SESSIONS`
   * @throws AuthError `ACCOUNT_BANNED`, `COOKIE_CONFLICT`, or `SESSIONS_UNAVAILABLE`
   * @example
   * const { headers } = await auth.api.createSession({ userId, request })
   * headers.set('location', '/')
   * return new Response(null, { status: 302, headers })
   */
  createSession(options: CreateSessionInput & ApiOptions): Promise<ApiResult<TokenResponse, true>>
}

/** Creates the methods without an endpoint. */
export function createServerApi(server: EndpointServer): ServerApi {
  return {
    async createSession({ userId, rememberMe, ...options }) {
      const request = toEndpointRequest(options, server)
      const context = createContext({ origin: 'mutation', caller: 'anyone' }, request, server)
      const { body, cookies } = withTransport(context, await beginSession(userId, context, { rememberMe }))
      return { ...body, headers: toHeaders(cookies) }
    },
  }
}
