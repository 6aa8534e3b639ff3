import { BANNED_CODE, CREDENTIALS_REPLACED_CODE, isTokenReason } from '@sallyport/core/internal/protocol'
import {
  createWSClient,
  type OperationLink,
  type TRPCWebSocketClient,
  type WebSocketClientOptions,
  type WebSocketLinkOptions as WsLinkOptions,
} from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { clientError, isDecided } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { createStore } from '../client/client-session.ts'
import { authDataOf, type CallError, isOutage, toCallError } from './call-error.ts'
import { findPageError } from './find-page-error.ts'
import type { LinkSession } from './link-session.ts'
import { oneCallPerFrame } from './one-call-per-frame.ts'
import type { Call, LinkCall } from './send-call.ts'

/** Options of {@link webSocketLink}: those of `createWSClient` and `wsLink`, except the credentials. */
export type WebSocketLinkOptions<Router extends AnyTRPCRouter> = SocketOptions &
  Omit<WsLinkOptions<Router>, 'client'>

interface SocketOptions extends Omit<WebSocketClientOptions, 'connectionParams'> {
  /**
   * Returns headers of each upgrade, such as `cookie` and `origin`. For programs with Node 22 or Bun, or with
   * the `WebSocket` of the package `ws`. Browsers send their own.
   */
  readonly headers?: () => Readonly<Record<string, string>>
}

export interface UserSocket {
  /** Sends a call. Returns a function that cancels it. */
  send(call: LinkCall, observer: Call['observer']): (() => void) | undefined
  /** Returns whether it is closed, or its JWT doesn't work any more and the client has a newer one. */
  isOutdated(): boolean
  /** Closes it once it has no calls. */
  retire(): void
}

export interface UserSocketOptions {
  readonly session: LinkSession
  readonly options: SocketOptions
  createLink(client: TRPCWebSocketClient): OperationLink<AnyTRPCRouter>
}

/** Opens a socket for the current user. It closes when the user changes, signs out, or is banned. */
export function openUserSocket({ session, options, createLink }: UserSocketOptions): UserSocket {
  const { url, onOpen, onClose, retryDelayMs = (attempts: number) => backOff(attempts + 1) } = options
  const { userChanges } = session.getState()
  /** That of the newest JWT when the latest connection was opened. */
  let seq = session.get().seq
  let rejected = -1
  let isRetired = false
  let isClosed = false
  let callsInFlight = 0
  /** The error of mutations while reconnects fail, or of all calls if the page's origin is rejected. */
  const failure = createStore<CallError | null>(null)

  const client = createWSClient({
    ...options,
    retryDelayMs(attempts) {
      // While tRPC replaces an open connection, that one still serves calls.
      if (attempts && client.connectionState.get().state === 'connecting') void fail()
      return retryDelayMs(attempts)
    },
    WebSocket: oneCallPerFrame(options.WebSocket ?? WebSocket, options.headers),
    async url() {
      if (seq > rejected) await session.refreshIfDue()
      // Without a newer JWT the server rejects each call and says why.
      else await session.refreshAfter(seq).catch(() => {})
      const { isRestored, shown } = session.get()
      // After a final error, the server rejects each call with it.
      if (isClosed || (isRestored && !isDecided(shown.error))) throw new Error('Closed')
      seq = session.get().seq
      return typeof url === 'function' ? url() : url
    },
    connectionParams: session.tokens?.connectionParams ?? null,
    onOpen() {
      failure.set(null)
      onOpen?.()
    },
    onClose(cause) {
      if (cause?.code === BANNED_CODE) {
        session.report('ACCOUNT_BANNED', userChanges)
        close()
      }
      if (cause?.code === CREDENTIALS_REPLACED_CODE) rejected = seq
      // Otherwise, it would follow the session, and a program would never end.
      if (options.lazy?.enabled) closeIfIdle()
      onClose?.(cause)
    },
  })
  const link = createLink(client)

  const unfollow = session.subscribe(() => {
    const state = session.getState()
    const isOther = state.userChanges !== userChanges
    if (!isOther && state.status !== 'signing-out') return
    close()
    // A sign-out waits only for responses to the user's own queries and mutations.
    if (isOther || callsInFlight === 0) client.connection?.ws.close()
  })

  /** Fails calls after a reconnect has failed. A browser doesn't say why. */
  async function fail(): Promise<void> {
    failure.set(toCallError(clientError('UNREACHABLE')))
    const error = await findPageError(session)
    if (!error) return
    failure.set(toCallError(error))
    await client.close()
  }

  function close(): void {
    isClosed = true
    client.close().then(unfollow, unfollow)
  }

  function closeIfIdle(): void {
    if (callsInFlight === 0) close()
  }

  return {
    send(call, observer) {
      const failIfDown = () => {
        const error = failure.get()
        // tRPC would send a mutation when the connection returns, maybe minutes later.
        const fails = error && (call.op.type === 'mutation' || !isOutage(error))
        if (fails) observer.error(error)
        return fails
      }
      if (failIfDown()) return
      const unsubscribe = failure.subscribe(failIfDown)
      callsInFlight++
      const subscription = link(call).subscribe({
        ...observer,
        error(error) {
          if (isTokenReason(authDataOf(error).reason ?? '')) rejected = seq
          observer.error(error)
        },
      })
      return () => {
        unsubscribe()
        subscription.unsubscribe()
        callsInFlight--
        if (isRetired) closeIfIdle()
      }
    },
    isOutdated() {
      const newest = session.get()
      // A rejected JWT is outdated once there is a newer one.
      const oldest = seq === rejected ? newest.seq : newest.oldestSeq
      return isClosed || seq < oldest
    },
    retire() {
      isRetired = true
      closeIfIdle()
    },
  }
}
