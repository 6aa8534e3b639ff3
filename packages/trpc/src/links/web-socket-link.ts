import { isTokenReason } from '@sallyport/core/protocol'
import {
  createWSClient,
  type OperationLink,
  type TRPCLink,
  type WebSocketClientOptions,
  type WebSocketLinkOptions as WsLinkOptions,
  wsLink,
} from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import type { AuthClient } from '../client/auth-client.ts'
import { backOff } from '../client/back-off.ts'
import { clientSession } from '../client/client-session.ts'
import { callByCall } from './call-by-call.ts'
import { authDataOf } from './call-error.ts'

/** What {@link webSocketLink} takes: what `createWSClient` and `wsLink` do, but for the credentials. */
export type WebSocketLinkOptions<Router extends AnyTRPCRouter> = Omit<
  WebSocketClientOptions,
  'connectionParams'
> &
  Omit<WsLinkOptions<Router>, 'client'>

/** The code that the server closes the socket of a banned user with. */
const BANNED = 4403

/** The connection of one user. */
interface Line<Router extends AnyTRPCRouter> {
  readonly send: OperationLink<Router>
  /** The newest JWT that there was when it was opened. */
  readonly generation: number
  /** How many are under way. */
  calls: number
  close(): void
}

/**
 * Calls over a WebSocket, behind {@link authLink}, with tRPC's `createWSClient` and `wsLink`. The first call of a user opens it, and it is
 * closed when they sign out or are banned. Each connection is made with fresh cookies or a fresh token, which travels in the first message
 * and never in the URL. A socket that was opened with a JWT which the server refuses is replaced once there is a newer one.
 *
 * @example
 * createTRPCClient<AppRouter>({
 *   links: [authLink(authClient), webSocketLink(authClient, { url: 'wss://app.example.com/trpc' })],
 * })
 */
export function webSocketLink<Router extends AnyTRPCRouter>(
  authClient: Pick<AuthClient, typeof clientSession>,
  options: WebSocketLinkOptions<Router>,
): TRPCLink<Router> {
  const session = authClient[clientSession]
  const { url, onClose } = options
  return (runtime) => {
    let current: Line<Router> | undefined
    /** The newest JWT that the server has refused. */
    let refused = -1

    function open(): Line<Router> {
      const { epoch } = session.getState()
      let isClosed = false
      const client = createWSClient({
        retryDelayMs: (attempts) => backOff(attempts + 1, null),
        ...options,
        WebSocket: callByCall(options.WebSocket ?? WebSocket),
        async url() {
          await session.refreshIfDue()
          if (isClosed) throw new Error('Closed')
          return typeof url === 'function' ? url() : url
        },
        ...(session.isBearer && { connectionParams: () => ({ token: session.token() ?? undefined }) }),
        onClose(cause) {
          if (cause?.code === BANNED) {
            session.report('ACCOUNT_BANNED', epoch)
            line.close()
          }
          onClose?.(cause)
        },
      })
      const unfollow = session.subscribe(() => {
        const state = session.getState()
        if (state.epoch === epoch && state.status !== 'signing-out') return
        line.close()
        // A sign-out waits for no answer but those to the user's own queries and mutations.
        if (state.epoch !== epoch || line.calls === 0) client.connection?.ws.close()
      })
      const line: Line<Router> = {
        send: wsLink<Router>({ ...options, client } as WsLinkOptions<Router>)(runtime),
        generation: session.generation,
        calls: 0,
        close() {
          isClosed = true
          if (current === line) current = undefined
          client.close().then(unfollow, unfollow)
        },
      }
      return line
    }

    return (call) =>
      observable((observer) => {
        if (current && current.generation <= refused && refused < session.generation) {
          const former = current
          current = undefined
          if (former.calls === 0) former.close()
        }
        current ??= open()
        const line = current
        line.calls++
        const subscription = line.send(call).subscribe({
          ...observer,
          error(error) {
            if (isTokenReason(authDataOf(error).reason ?? '')) refused = Math.max(refused, line.generation)
            observer.error(error)
          },
        })
        return () => {
          subscription.unsubscribe()
          if (--line.calls === 0 && line !== current) line.close()
        }
      })
  }
}
