import { CLIENT_HEADER, type TokenResponse } from '@sallyport/core/protocol'
import type { Receipt } from './receipt.ts'

/** How credentials travel. */
export interface CredentialTransport {
  readonly credentials: RequestCredentials
  /** The headers of a call; with those that only an auth endpoint may see. */
  headers(forEndpoint?: boolean): Record<string, string>
  /** Where the program keeps the tokens itself. */
  readonly tokens?: TokenStore
}

/** The tokens of a program that keeps no cookies. */
export interface TokenStore {
  /** The JWT; null where there is none. */
  current(): string | null
  /** What was received before; null says that nobody is signed in. */
  recall(): Promise<Receipt | null>
  /** Keeps the tokens of a response: the JWT, and the session token if it is a new one. */
  keep(response: TokenResponse, receipt: Receipt): Promise<void>
  forget(): Promise<void>
}

/** Makes the transport of a client; the key tells its server from others. */
export type OpenTransport = (key: string) => CredentialTransport

/** The browser keeps the cookies, and no script sees them. */
export const cookieTransport: CredentialTransport = {
  credentials: 'include',
  headers: () => ({ [CLIENT_HEADER]: '1' }),
}
