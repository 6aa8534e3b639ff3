import type { AuthConfig, AuthDatabase, AuthStore, Identity, RequestKind } from '@sallyport/core'
import { checkOrigin, identify } from '@sallyport/core'
import {
  clientAddress,
  isUnavailable,
  readCredentials,
  reportFailure,
  reportRejection,
} from '@sallyport/core/internal/server'
import type { AuthRequestOptions, RenewSession, SentRequest, Transport } from './sent-request.ts'
import { isCurrent, readSession, type SessionRead } from './session-read.ts'
import type { SocketLimiter } from './socket-limiter.ts'

interface Step1 {
  readonly kind: RequestKind
  /** Replaced by the identity once Step 1 has passed. */
  result: Promise<Identity> | Identity
}

interface SharedRead {
  readonly store: AuthStore
  readonly kind: RequestKind
  readonly startedAt: number
  readonly result: Promise<SessionRead>
}

const MAX_SHARED_READ_MS = 1_000

/** The credentials of one HTTP request or WebSocket connection. Runs both steps for all of its calls. */
export class AuthRequest {
  readonly request: SentRequest
  readonly transport: Transport
  readonly config: AuthConfig
  readonly kind: RequestKind
  readonly carriesStreams: boolean
  readonly remoteAddress: string | null
  readonly closed: AbortSignal | undefined
  readonly #shared: AuthRequestOptions['shared']
  readonly #connection: AuthRequestOptions['connection']
  readonly #renew: RenewSession | undefined
  #step1: Step1 | null = null
  #lastRead: SharedRead | null = null
  #wasChecked = false
  #identity: Identity | null = null
  #handshake: Promise<void> | null = null
  #isAwaited = false

  constructor(request: SentRequest, options: AuthRequestOptions) {
    this.request = request
    this.transport = options.transport
    this.config = options.shared.config
    this.kind = options.kind
    this.carriesStreams = options.carriesStreams
    this.remoteAddress = options.remoteAddress ?? null
    this.closed = options.closed
    this.#shared = options.shared
    this.#connection = options.connection
    this.#renew = options.renew
  }

  /** Absent over HTTP, and without `webSocketOptions`. */
  get limiter(): SocketLimiter | undefined {
    return this.#connection?.limiter
  }

  get ownDb(): AuthDatabase | undefined {
    return this.#shared.ownDb
  }

  /** Whether tRPC received it as GET, as when a user opens a link. */
  get isGet(): boolean {
    const { method } = this.request
    return this.transport === 'http' && (method === 'GET' || method === 'HEAD')
  }

  address(): string | null {
    const forwardedFor = this.request.header('x-forwarded-for')
    return clientAddress(this.remoteAddress, forwardedFor, this.#shared.trustsProxy)
  }

  hasSessionCookie(): boolean {
    return readCredentials(this.request.header, this.config).sessionCookie !== null
  }

  /** Whether Step 1 has proved who the caller is, so Step 2 rejected what failed. Stays true. */
  isIdentified(): boolean {
    return this.#identity !== null
  }

  /** Whether the credentials were read: the response may be meant for this caller alone. */
  wasChecked(): boolean {
    return this.#wasChecked
  }

  /** Called before an auth endpoint reads the credentials. */
  markChecked(): void {
    this.#wasChecked = true
  }

  /** Checks the credentials at once: Step 1, and then Step 2 if there is a store. */
  beginHandshake(store: AuthStore | undefined): void {
    this.#handshake = this.#checkHandshake(store)
    this.#handshake.catch(() => {})
  }

  /** Runs both steps. Over HTTP, calls of a request share a read for 1 s, or until anything is revoked. */
  authenticate(store: AuthStore, kind: RequestKind): Promise<SessionRead> {
    const last = this.#lastRead
    const isShared = last !== null && last.store === store && last.kind === kind
    // The promise itself, so the calls of a batch continue in order.
    if (!isShared || performance.now() - last.startedAt > MAX_SHARED_READ_MS)
      return this.authenticateFresh(store, kind)
    return this.#shareRead(last)
  }

  /** Runs both steps with a read that no other call has used. */
  authenticateFresh(store: AuthStore, kind: RequestKind): Promise<SessionRead> {
    if (this.transport === 'ws') return this.#runSteps(store, kind)
    const startedAt = performance.now()
    const result = this.#runSteps(store, kind)
    this.#lastRead = { store, kind, startedAt, result }
    return result
  }

  async #shareRead({ result, store, kind }: SharedRead): Promise<SessionRead> {
    const read = await result
    // The read began before this call: a revocation since then must not be missed.
    return isCurrent(read, store, this.config) ? read : await this.authenticateFresh(store, kind)
  }

  async #runSteps(store: AuthStore, kind: RequestKind): Promise<SessionRead> {
    // A call during the handshake fails with its reason. Only then does a ban close the connection.
    if (this.#handshake !== null) {
      this.#isAwaited = true
      await this.#handshake.catch((error: unknown) => this.#fail(error))
    }
    const identified = this.#identifyOnce(kind)
    const identity = identified instanceof Promise ? await identified : identified
    try {
      const first = await readSession(identity, store, this.config)
      const read = this.#renew === undefined ? first : await this.#renewIfDue(first, this.#renew)
      this.#connection?.onRead(read)
      return read
    } catch (error) {
      return this.#fail(error)
    }
  }

  /** Runs Step 1 once. A connection keeps its identity when the JWT expires: the session row decides. */
  #identifyOnce(callKind: RequestKind): Promise<Identity> | Identity {
    this.#wasChecked = true
    const kind = this.kind === 'upgrade' ? this.kind : callKind
    if (this.#step1?.kind === kind) return this.#step1.result
    const known = this.#identity
    const result =
      known === null ? identify(this.request, kind, this.config) : this.#identifyAgain(known, kind)
    const step1: Step1 = { kind, result }
    this.#step1 = step1
    result.then(
      (identity) => {
        step1.result = identity
        this.#identity = identity
      },
      (error: unknown) => {
        if (!isUnavailable(error)) return
        if (this.#step1 === step1) this.#step1 = null
        this.#lastRead = null
      },
    )
    return result
  }

  /**
   * Checks a call of another kind, for which only the origin policy differs. A stream may make it after its
   * JWT has expired.
   */
  async #identifyAgain(identity: Identity, kind: RequestKind): Promise<Identity> {
    const { request, config } = this
    const { transport } = readCredentials(request.header, config)
    const check = () => transport === 'bearer' || checkOrigin(request, kind, config)
    reportRejection(check, { step: 1, sessionId: null, config })
    return identity
  }

  /** No call relies on this read: the session may have been revoked before the call came. */
  async #checkHandshake(store: AuthStore | undefined): Promise<void> {
    try {
      const identity = await this.#identifyOnce(this.kind)
      if (store === undefined) return
      this.#connection?.onRead(await readSession(identity, store, this.config))
    } catch (error) {
      // A call that waits reports it under its own path.
      const step = this.isIdentified() ? 'step2' : 'step1'
      if (!this.#isAwaited) reportFailure(error, { path: 'handshake', step }, this.config)
      throw error
    } finally {
      this.#handshake = null
    }
  }

  async #renewIfDue(read: SessionRead, renew: RenewSession): Promise<SessionRead> {
    const addHeaders = await renew(read, this.request)
    if (addHeaders === null) return read
    // The session may have ended meanwhile.
    const again = await readSession(read.identity, read.store, this.config)
    addHeaders()
    return again
  }

  #fail(error: unknown): never {
    this.#connection?.onError(error)
    throw error
  }
}
