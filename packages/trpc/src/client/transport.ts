import type { TokenResponse } from '@sallyport/core/internal/protocol'
import { CLIENT_HEADER, NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { AuthClientError } from './auth-client-error.ts'
import type { Receipt } from './receipt.ts'

export interface CredentialTransport {
  readonly credentials: RequestCredentials
  /** Returns the headers of a call; with `forEndpoint`, also those that only an auth endpoint may see. */
  headers(forEndpoint?: boolean): Record<string, string>
  /** Absent if the browser keeps cookies. */
  readonly tokens?: TokenStore
}

let disabled = 'BEARER_DISABLED'
try {
  // Written so bundlers can replace the expression and drop the text from production code.
  if (process.env.NODE_ENV !== 'production') disabled = 'Set `bearer: true` in defineAuthConfig'
} catch {
  // Browsers have no `process`.
}

/** The tokens of a program without cookies. */
export interface TokenStore {
  /** Connects the tabs with such tokens. */
  readonly name: string
  /** Returns what a socket sends first. */
  connectionParams(): { token: string | undefined }
  /** Throws if the option of `subscriptionLink` is absent: that of a browser sends no tokens. */
  check(eventSource: unknown): void
  /** Reads the stored tokens; null if no user is signed in. */
  read(): Promise<Receipt | null>
  /** Stores the tokens of a response: the JWT, and the session token if it is a new one. */
  keep(response: TokenResponse, receipt: Receipt): Promise<void>
  forget(): Promise<void>
}

/** Creates the transport of a client, such as {@link bearer}. The key identifies its server. */
export type OpenTransport = (key: string) => CredentialTransport

/** A browser keeps its cookies, which no script can read. On a server, `cookie` is that of the page. */
export function cookieTransport(cookie: string | false | null | undefined): CredentialTransport {
  return {
    credentials: 'include',
    headers: (forEndpoint) => ({ [CLIENT_HEADER]: '1', ...(forEndpoint && cookie && { cookie }) }),
  }
}

/** The storage of a program's tokens, such as `localStorage` or the keychain of a phone. May be async. */
export interface BearerStorage {
  getItem(key: string): string | null | undefined | Promise<string | null | undefined>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

/**
 * Creates a transport for programs without cookies. The server must set `bearer: true`. Any code that reads
 * the storage has the session, so prefer cookies in a page.
 *
 * @example
 * const baseUrl = 'https://app.example.com'
 * createAuthClient<typeof auth.api>({ baseUrl, transport: bearer(AsyncStorage) })
 */
export function bearer(storage: BearerStorage): OpenTransport {
  return (key) => {
    let stored: Tokens | null = null
    return {
      credentials: 'omit',
      headers: (forEndpoint) => ({
        [CLIENT_HEADER]: '1',
        ...(stored && { authorization: `Bearer ${stored.token}` }),
        ...(forEndpoint && { [SESSION_HEADER]: stored?.sessionToken ?? NO_SESSION }),
      }),
      tokens: {
        name: `${key} bearer`,
        connectionParams: () => ({ token: stored?.token }),
        check(eventSource) {
          if (!eventSource) throw new TypeError('Bearer transport: pass an EventSource with a fetch')
        },
        async read() {
          const text = await storage.getItem(key)
          stored = null
          try {
            const { token, sessionToken, ...receipt }: Tokens & Receipt = JSON.parse(`${text}`)
            if (token && sessionToken) {
              stored = { token, sessionToken }
              // Without the tokens: other scripts see receipts in messages to tabs and in names of locks.
              return receipt
            }
          } catch {
            // This client didn't store that.
          }
          return null
        },
        async keep({ token, sessionToken = stored?.sessionToken }, receipt) {
          if (!token || !sessionToken)
            throw new AuthClientError(200, { code: 'BEARER_DISABLED', message: disabled })
          await storage.setItem(key, JSON.stringify({ ...receipt, token, sessionToken }))
          // Until then, calls are those of the former user.
          stored = { token, sessionToken }
        },
        async forget() {
          stored = null
          try {
            await storage.removeItem(key)
          } catch {
            // The server no longer accepts them.
          }
        },
      },
    }
  }
}

type Tokens = Required<Pick<TokenResponse, 'token' | 'sessionToken'>>
