import { CLIENT_HEADER, NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { clientError } from './auth-client-error.ts'
import type { Receipt } from './receipt.ts'
import type { OpenTransport } from './transport.ts'

/** Where a program stores its tokens, such as `localStorage` or the keychain of a phone. May be async. */
export interface BearerStorage {
  getItem(key: string): string | null | undefined | Promise<string | null | undefined>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

/**
 * Creates a transport for native apps and for pages that can't use cookies. The program stores the tokens and
 * sends them in headers; cookies are neither sent nor set. The server must set `bearer: true`. Any code that
 * reads the storage has the session, so prefer cookies in a page.
 *
 * @example createAuthClient<typeof auth.api>({ baseUrl: 'https://app.example.com', transport: bearer(AsyncStorage) })
 */
export function bearer(storage: BearerStorage): OpenTransport {
  return (key) => {
    let stored: StoredTokens | null = null
    return {
      credentials: 'omit',
      headers: (forEndpoint) => ({
        [CLIENT_HEADER]: '1',
        ...(stored && { authorization: `Bearer ${stored.token}` }),
        ...(forEndpoint && { [SESSION_HEADER]: stored?.sessionToken ?? NO_SESSION }),
      }),
      tokens: {
        current: () => stored?.token ?? null,
        async recall() {
          stored = parse(await storage.getItem(key))
          return stored
        },
        async keep({ token, sessionToken = stored?.sessionToken }, receipt) {
          if (!token || !sessionToken) throw clientError('BEARER_DISABLED')
          stored = { ...receipt, token, sessionToken }
          await storage.setItem(key, JSON.stringify(stored))
        },
        async forget() {
          stored = null
          await storage.removeItem(key)
        },
      },
    }
  }
}

interface StoredTokens extends Receipt {
  readonly token: string
  readonly sessionToken: string
}

/** Returns null for anything that this client didn't store. */
function parse(text: string | null | undefined): StoredTokens | null {
  try {
    const stored: StoredTokens | null = JSON.parse(text || 'null')
    return stored?.token && stored.sessionToken ? stored : null
  } catch {
    return null
  }
}
