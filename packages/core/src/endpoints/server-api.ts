import type { TokenResponse } from '../protocol.ts'
import { type ApiOptions, type ApiResult, toEndpointRequest, toHeaders } from './api.ts'
import { answerTo, createContext, type EndpointServer } from './call-endpoint.ts'
import { beginSession } from './issue-tokens.ts'

/** What {@link ServerApi.createSession} takes. */
export interface CreateSessionInput {
  /** Who has proved who they are. */
  readonly userId: string
  /** False for a session that ends with the browser, or after a day. @default true */
  readonly rememberMe?: boolean
}

/** Methods of `auth.api` that no endpoint serves: the app's own code decides who may call them. */
export interface ServerApi {
  /**
   * Begins a session for a user who has proved who they are elsewhere: with OAuth, a passkey or SAML. The answer to the browser needs the
   * returned headers, which set its cookies.
   *
   * @throws EndpointError `USER_NOT_FOUND` or `TOO_MANY_SESSIONS`
   * @throws AuthError `ACCOUNT_BANNED`, `COOKIE_CONFLICT` or `SESSIONS_UNAVAILABLE`
   * @example
   * const { headers } = await auth.api.createSession({ userId, request })
   * headers.set('location', '/')
   * return new Response(null, { status: 302, headers })
   */
  createSession(options: CreateSessionInput & ApiOptions): Promise<ApiResult<TokenResponse, true>>
}

/** Makes the methods that no endpoint serves. */
export function createServerApi(server: EndpointServer): ServerApi {
  return {
    async createSession({ userId, rememberMe, ...options }) {
      const request = toEndpointRequest(options, server)
      const context = createContext({ origin: 'mutation', caller: 'anyone' }, request, server)
      const { body, cookies } = answerTo(context, await beginSession(userId, context, { rememberMe }))
      return { ...body, headers: toHeaders(cookies) }
    },
  }
}
