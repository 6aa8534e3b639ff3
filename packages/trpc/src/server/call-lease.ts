import { type AuthConfig, AuthError, isAuthError, isEndpointError, type Session } from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { reportError, toTRPCError, withStatus } from './errors.ts'
import type { LeaseSubscriber } from './session-lease.ts'
import { type LeaseSubscription, subscribeToLease } from './session-leases.ts'
import type { SessionRead } from './session-read.ts'
import { endWithServer } from './stopping-streams.ts'

export const callLease: unique symbol = Symbol.for('sallyport.callLease') as never

export interface StreamLease extends LeaseSubscription {
  /** Aborts with the error of the stream when the session ends or the caller goes away. */
  readonly signal: AbortSignal
  /** Keeps the reason of an AuthError from the source, such as a lost database, and an endpoint's status. */
  withReason(error: unknown): unknown
  /** Ends the stream, and aborts the signal unless another stream of the call is open. */
  abandon(): void
}

interface CallLeaseOptions {
  /** The handle of the guard before this one, or of the request. */
  readonly outer: object
  readonly config: AuthConfig
  readonly path: string
  /** Each aborts when the caller goes away. Over WebSocket, tRPC aborts only those of subscriptions. */
  readonly callers: readonly (AbortSignal | undefined)[]
  /** Whether the client continues the stream on another node if this one ends it. */
  readonly isResumable: boolean
  /** Whether the call has ended. */
  readonly isOver: boolean
}

/**
 * The lease of a guarded call. It subscribes to the lease of the session when a stream is first read or the
 * signal is used, so other calls pay nothing. It ends with the call or its last stream.
 */
export class CallLease implements LeaseSubscriber {
  readonly emits = true
  /** Checked with every later read, for all guards of the call. Each returns an error to end the call. */
  readonly conditions: ((session: Session) => AuthError | null)[]
  readonly read: SessionRead
  readonly #config: AuthConfig
  readonly #path: string
  readonly #callers: CallLeaseOptions['callers']
  readonly #isResumable: boolean
  /** Created on first use: most calls have no stream. */
  #lazyController: AbortController | undefined
  #subscription: LeaseSubscription | null = null
  #endsWithServer: (() => void) | null = null
  #openStreams = 0
  #isOver: boolean

  constructor(read: SessionRead, { outer, config, path, callers, isResumable, isOver }: CallLeaseOptions) {
    this.conditions = isLeased(outer) ? outer[callLease].conditions : []
    this.read = read
    this.#config = config
    this.#path = path
    this.#callers = callers
    this.#isResumable = isResumable
    this.#isOver = isOver
  }

  get #controller(): AbortController {
    this.#lazyController ??= new AbortController()
    return this.#lazyController
  }

  /** Subscribes to the session when it is first read. */
  get signal(): AbortSignal {
    // After the call, nothing would end the subscription.
    if (!this.#isOver) this.#subscribe()
    return this.#controller.signal
  }

  openStream(): StreamLease {
    this.#isOver = false
    this.#openStreams++
    this.#config.telemetry?.open('streams', 1)
    if (this.#isResumable)
      this.#endsWithServer ??= endWithServer(this.read.store.revocations, () =>
        this.#end(toTRPCError(new AuthError('SESSIONS_UNAVAILABLE'))),
      )
    // Subscribes by reading the signal. Last, because it ends all of this if the caller has gone away.
    return new OpenStream(this)
  }

  pending(): Promise<void> | null {
    return this.#subscription?.pending() ?? null
  }

  withReason(error: unknown): unknown {
    // The middlewares of the call are over, so no other code converts it.
    if (isEndpointError(error)) return withStatus(error.status, error)
    if (!isAuthError(error)) return error
    return reportError(toTRPCError(error), { path: this.#path, step: 'procedure' }, this.#config)
  }

  endStream(): void {
    this.#config.telemetry?.open('streams', -1)
    if (--this.#openStreams === 0) this.end()
  }

  abandonStream(): void {
    this.endStream()
    if (this.#openStreams === 0) this.abandon()
  }

  #subscribe(): void {
    if (this.#subscription !== null || this.#controller.signal.aborted) return
    if (this.#callers.some((caller) => caller?.aborted)) {
      this.abandon()
      return
    }
    this.#subscription = subscribeToLease(this.read, this, this.#config)
    for (const caller of this.#callers) caller?.addEventListener('abort', this)
  }

  /** Called when the caller goes away. */
  handleEvent(): void {
    this.abandon()
  }

  errorOf(session: Session): AuthError | null {
    for (const condition of this.conditions) {
      const error = condition(session)
      if (error !== null) return error
    }
    return null
  }

  onSession(session: Session): void {
    try {
      const error = this.errorOf(session)
      if (error !== null) this.onError(error)
    } catch (error) {
      // From the app's function. No caller waits for this read, so it would end the process.
      this.onError(error)
    }
  }

  onError(error: unknown): void {
    this.#end(reportError(toTRPCError(error), { path: this.#path, step: 'step2' }, this.#config))
  }

  #end(error: Error): void {
    this.end()
    this.#controller.abort(error)
  }

  end(): void {
    this.#isOver = true
    this.#subscription?.end()
    this.#subscription = null
    for (const caller of this.#callers) caller?.removeEventListener('abort', this)
    this.#endsWithServer?.()
    this.#endsWithServer = null
  }

  abandon(): void {
    this.end()
    const cause = this.#callers.find((caller) => caller?.aborted)?.reason
    const error = new TRPCError({ code: 'CLIENT_CLOSED_REQUEST', cause })
    // tRPC ignores this name in server-sent events. In JSON lines, it reports the code, or an internal error.
    this.#controller.abort(Object.assign(error, { name: 'AbortError' }))
  }
}

class OpenStream implements StreamLease {
  readonly #lease: CallLease
  readonly signal: AbortSignal
  #isOpen = true

  constructor(lease: CallLease) {
    this.#lease = lease
    this.signal = lease.signal
  }

  pending(): Promise<void> | null {
    return this.#lease.pending()
  }

  withReason(error: unknown): unknown {
    return this.#lease.withReason(error)
  }

  end(): void {
    if (this.#isOpen) this.#lease.endStream()
    this.#isOpen = false
  }

  abandon(): void {
    if (this.#isOpen) this.#lease.abandonStream()
    this.#isOpen = false
  }
}

export function isLeased(handle: object): handle is { readonly [callLease]: CallLease } {
  return callLease in handle
}
