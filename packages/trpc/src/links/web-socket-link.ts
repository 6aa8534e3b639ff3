import type { TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { clientSession } from '../client/client-session.ts'
import type { LinkClient } from './link-client.ts'
import { rejectOnServer } from './reject-on-server.ts'
import { openUserSocket, type UserSocket, type WebSocketLinkOptions } from './user-socket.ts'

/**
 * Creates a link for calls over a WebSocket. Put it behind {@link authLink}. The first call of a user opens
 * the socket, which closes when the user signs out or is banned. Each connection uses fresh credentials; a
 * token travels in the first message, never in the URL. If the server rejects the JWT of a socket, calls use
 * a socket with a newer one. If it rejects the origin of the page, calls fail with `ORIGIN_REJECTED`,
 * whose message says what to do in development. While reconnects fail, queries wait and mutations fail.
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
  return () => {
    let socket: UserSocket | undefined
    return (call) =>
      observable((observer) => {
        if (!socket || socket.isStale()) socket = openUserSocket(session, options)
        return socket.send(call, observer)
      })
  }
}
