import { CLIENT_HEADER, type TokenResponse } from '@sallyport/core/internal/protocol'
import type { Receipt } from './receipt.ts'

/** How credentials travel. */
export interface CredentialTransport {
  readonly credentials: RequestCredentials
  /** Returns the headers of a call; with `forEndpoint`, also those that only an auth endpoint may see. */
  headers(forEndpoint?: boolean): Record<string, string>
  /** Absent if the browser keeps cookies. */
  readonly tokens?: TokenStore
}

/** The tokens of a program without cookies. */
export interface TokenStore {
  current(): string | null
  /** Reads the stored tokens; null if no user is signed in. */
  recall(): Promise<Receipt | null>
  /** Stores the tokens of a response: the JWT, and the session token if it is a new one. */
  keep(response: TokenResponse, receipt: Receipt): Promise<void>
  forget(): Promise<void>
}

/** Creates the transport of a client. The key identifies its server. */
export type OpenTransport = (key: string) => CredentialTransport

/** The browser keeps the cookies, which no script can read. */
export const cookieTransport: CredentialTransport = {
  credentials: 'include',
  headers: () => ({ [CLIENT_HEADER]: '1' }),
}
