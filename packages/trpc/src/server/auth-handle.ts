import type { AuthStore, Identity, RequestKind } from '@sallyport/core'
import type { AuthRequest } from './auth-request.ts'
import type { Transport } from './sent-request.ts'

export const authRequest: unique symbol = Symbol.for('sallyport.authRequest') as never
export const authCall: unique symbol = Symbol.for('sallyport.authCall') as never

/** The credentials of one HTTP request or WebSocket connection, in the context as `ctx.auth`. */
export interface AuthHandle {
  readonly transport: Transport
  /** Returns the address of the client according to `trustedProxies`; null if unknown. */
  address(): string | null
  /** @internal */
  readonly [authRequest]: AuthRequest
  /** @internal */
  readonly [authCall]: AuthCall
}

/** One call of a request. */
export interface AuthCall {
  /** The procedure type. Before a guard runs, it is the strictest one that tRPC's information allows. */
  readonly kind: RequestKind
  readonly isGet: boolean
  /** The path of the procedure, behind its guard. */
  readonly path?: string | undefined
  /** Set once a guard has accepted the call. */
  identity?: Identity | undefined
  /** The store of an action, whose context has no database. */
  store?: AuthStore | undefined
}

export class CallHandle implements AuthHandle {
  readonly transport: Transport
  readonly [authRequest]: AuthRequest
  readonly [authCall]: AuthCall

  /** @param call before a guard runs, the request itself */
  constructor(request: AuthRequest, call: AuthCall = request) {
    this.transport = request.transport
    this[authRequest] = request
    this[authCall] = call
  }

  address(): string | null {
    return this[authRequest].address()
  }
}
