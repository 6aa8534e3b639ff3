import { isTokenReason } from '@sallyport/core/internal/protocol'
import type { OperationLink, TRPCLink, WebSocketLinkOptions as WsLinkOptions } from '@trpc/client'
import { TRPCClientError, wsLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { clientError } from '../client/auth-client-error.ts'
import { clientSession } from '../client/client-session.ts'
import { authDataOf, type CallError, toCallError } from './call-error.ts'
import type { LinkClient } from './link-client.ts'
import { rejectOnServer } from './reject-on-server.ts'
import type { LinkCall } from './send-call.ts'
import {
  openUserSocket,
  type UserSocket,
  type UserSocketOptions,
  type WebSocketLinkOptions,
} from './user-socket.ts'

/**
 * Creates a link for calls over a WebSocket. Put it behind {@link authLink}. The first call of a user opens
 * the socket, which closes when the user signs out or is banned. Each connection uses fresh credentials; a
 * token travels in the first message, never in the URL. If the server rejects the JWT of a socket, calls use
 * a socket with a newer one. If it rejects the origin of the page, calls and `state.error` get
 * `ORIGIN_REJECTED`, whose message says what to do. While reconnects fail, queries wait and mutations fail.
 * On a server, calls fail with `TOKEN_MISSING`.
 *
 * @example links: [authLink(authClient), webSocketLink(authClient, { url: 'wss://app.example.com/trpc' })]
 */
export function webSocketLink<Router extends AnyTRPCRouter>(
  authClient: LinkClient,
  options: WebSocketLinkOptions<Router>,
): TRPCLink<Router> {
  const session = authClient[clientSession]
  if (session.server) return () => rejectOnServer
  return (runtime) => {
    const pool: SocketPool = {
      session,
      options,
      createLink: (client) => wsLink<Router>({ ...options, client } as WsLinkOptions<Router>)(runtime),
      current: null,
    }
    return (call) => observeCall(pool, call)
  }
}

interface SocketPool extends UserSocketOptions {
  current: UserSocket | null
}

function observeCall(pool: SocketPool, call: LinkCall): ReturnType<OperationLink<AnyTRPCRouter>> {
  return observable((observer) => {
    /** Every error of a page that the server rejects has that cause. */
    const end = (error?: CallError) => {
      const cause = pool.session.get().pageError ?? error
      if (cause) observer.error(TRPCClientError.from(cause))
      else observer.complete()
    }
    if (pool.session.get().pageError) return end()
    const socket = currentSocket(pool)
    // tRPC would send the mutation when the connection returns, maybe minutes later.
    const failIfDown = () => {
      const isDown = call.op.type === 'mutation' && socket.isDown.get()
      if (isDown) end(toCallError(clientError('UNREACHABLE')))
      return isDown
    }
    if (failIfDown()) return
    const unfollow = socket.isDown.subscribe(failIfDown)
    socket.callsInFlight++
    const subscription = socket.send(call).subscribe({
      ...observer,
      error(error) {
        if (isTokenReason(authDataOf(error).reason ?? '')) socket.reject()
        end(error)
      },
      // Closing a socket completes its subscriptions.
      complete: () => end(),
    })
    return () => {
      unfollow()
      subscription.unsubscribe()
      if (--socket.callsInFlight === 0 && socket !== pool.current) socket.close()
    }
  })
}

/** Returns the socket for the next call. */
function currentSocket(pool: SocketPool): UserSocket {
  const { current } = pool
  if (current && !current.isOutdated()) return current
  if (current?.callsInFlight === 0) current.close()
  pool.current = openUserSocket(pool)
  return pool.current
}
