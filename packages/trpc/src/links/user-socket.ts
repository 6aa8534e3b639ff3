import { BANNED_CODE, CREDENTIALS_REPLACED_CODE, isTokenReason } from '@sallyport/core/internal/protocol'
import {
  createWSClient,
  type WebSocketClientOptions,
  type WebSocketLinkOptions as WsLinkOptions,
  wsLink,
} from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { type AuthClientError, clientError, isDecided } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { authDataOf, type CallError, isOutage, toCallError } from './call-error.ts'
import { checkPage } from './check-page.ts'
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
  /**
   * Returns whether it is closed, or its JWT doesn't work any more and the client has a newer one. Then it
   * closes once it has no calls.
   */
  isStale(): boolean
}

/** Opens a socket for the current user. It closes when the user changes, signs out, or is banned. */
export function openUserSocket(session: LinkSession, options: SocketOptions): UserSocket {
  const { url, onOpen, onClose, retryDelayMs = (attempts: number) => backOff(attempts + 1) } = options
  const { userChanges } = session.getState()
  /** That of the newest JWT when the latest connection was opened. */
  let seq = session.get().seq
  /** That of the newest JWT that the server has rejected. */
  let rejected: number | undefined
  let isRetired = false
  let isClosed = false
  /** The error of mutations while reconnects fail, or of all calls if the page's origin is rejected. */
  let failure: CallError | undefined
  /** The calls in flight. Each function fails its call if it must not wait for the next connection. */
  const calls = new Set<() => unknown>()

  const client = createWSClient({
    ...options,
    retryDelayMs(attempts) {
      // While tRPC replaces an open connection, that one still serves calls.
      if (attempts && client.connectionState.get().state === 'connecting') {
        fail(clientError('UNREACHABLE'))
        // A browser doesn't say why the server rejected an upgrade.
        void checkPage(session, (error) => {
          fail(error)
          void client.close()
        })
      }
      return retryDelayMs(attempts)
    },
    WebSocket: oneCallPerFrame(options.WebSocket ?? WebSocket, options.headers),
    async url() {
      // Without a newer JWT the server rejects each call and says why.
      await (seq === rejected ? session.refreshAfter(seq).catch(() => {}) : session.refreshDue())
      const { isStale, shown } = session.get()
      // After a final error, the server rejects each call with it.
      if (isClosed || (isStale && !isDecided(shown.error))) throw clientError('USER_CHANGED')
      seq = session.get().seq
      return typeof url === 'function' ? url() : url
    },
    connectionParams: session.tokens?.connectionParams ?? null,
    onOpen() {
      failure = undefined
      onOpen?.()
    },
    onClose(cause) {
      if (cause?.code === BANNED_CODE) {
        session.report('ACCOUNT_BANNED', userChanges)
        close()
      }
      if (cause?.code === CREDENTIALS_REPLACED_CODE) rejected = seq
      // Otherwise, it would follow the session, and a program would never end.
      if (options.lazy?.enabled && !calls.size) close()
      onClose?.(cause)
    },
  })
  const link = wsLink({ ...options, client } as WsLinkOptions<AnyTRPCRouter>)({})

  const unfollow = session.subscribe(() => {
    const state = session.getState()
    const isOther = state.userChanges !== userChanges
    if (!isOther && state.status !== 'signing-out') return
    close()
    // A sign-out waits only for responses to the user's own queries and mutations.
    if (isOther || !calls.size) client.connection?.ws.close()
  })

  function fail(error: AuthClientError): void {
    failure = toCallError(error)
    for (const failIfDown of calls) failIfDown()
  }

  function close(): void {
    isClosed = true
    client.close().then(unfollow, unfollow)
  }

  return {
    send(call, observer) {
      const failIfDown = () => {
        // tRPC would send a mutation when the connection returns, maybe minutes later.
        if (!failure || (call.op.type !== 'mutation' && isOutage(failure))) return false
        observer.error(failure)
        return true
      }
      if (failIfDown()) return
      calls.add(failIfDown)
      const subscription = link(call).subscribe({
        ...observer,
        error(error) {
          if (isTokenReason(authDataOf(error).reason ?? '')) rejected = seq
          observer.error(error)
        },
      })
      return () => {
        calls.delete(failIfDown)
        subscription.unsubscribe()
        if (isRetired && !calls.size) close()
      }
    },
    isStale() {
      const newest = session.get()
      // A rejected JWT is outdated once there is a newer one.
      isRetired = isClosed || seq < (seq === rejected ? newest.seq : newest.minSeq)
      if (isRetired && !calls.size) close()
      return isRetired
    },
  }
}
