import { CLIENT_HEADER, NO_SESSION, SESSION_HEADER } from '@sallyport/core/protocol'
import { ownError } from './auth-client-error.ts'
import type { Receipt } from './receipt.ts'
import type { CredentialTransport, OpenTransport } from './transport.ts'

/** Where a program keeps its bearer tokens, such as `localStorage` or the keychain of a phone. It may answer at once or later. */
export interface BearerStorage {
  /** What was kept under a key; null or undefined where nothing was. */
  getItem(key: string): string | null | undefined | Promise<string | null | undefined>
  /** Keeps a value under a key. */
  setItem(key: string, value: string): unknown
  /** Forgets what was kept under a key. */
  removeItem(key: string): unknown
}

/**
 * For native apps, and pages that may not use cookies: the program keeps the tokens, which travel in headers; cookies are neither sent
 * nor set. The server has to enable `bearer`. Whatever can read the storage has the session, so in a page cookies are better.
 *
 * @param storage `localStorage`, `AsyncStorage` of React Native, or anything else with these three methods
 * @example createAuthClient<typeof auth.api>({ baseUrl: 'https://app.example.com', transport: bearer(AsyncStorage) })
 */
export function bearer(storage: BearerStorage): OpenTransport {
  return (key) => openBearer(storage, key)
}

/** What is kept under the key. */
interface Kept extends Receipt {
  readonly token: string
  readonly sessionToken: string
}

function openBearer(storage: BearerStorage, key: string): CredentialTransport {
  let kept: Kept | null = null
  return {
    credentials: 'omit',
    headers: (forEndpoint) => ({
      [CLIENT_HEADER]: '1',
      ...(kept && { authorization: `Bearer ${kept.token}` }),
      ...(forEndpoint && { [SESSION_HEADER]: kept?.sessionToken ?? NO_SESSION }),
    }),
    tokens: {
      current: () => kept?.token ?? null,
      async recall() {
        kept = parse(await storage.getItem(key))
        return kept
      },
      async keep({ token, sessionToken = kept?.sessionToken }, receipt) {
        if (!token || !sessionToken) throw ownError('BEARER_DISABLED', 200)
        kept = { ...receipt, token, sessionToken }
        await storage.setItem(key, JSON.stringify(kept))
      },
      async forget() {
        kept = null
        await storage.removeItem(key)
      },
    },
  }
}

/** What is not ours is no credential. */
function parse(text: string | null | undefined): Kept | null {
  try {
    const kept: Kept | null = JSON.parse(text || 'null')
    return kept?.token && kept.sessionToken ? kept : null
  } catch {
    return null
  }
}
