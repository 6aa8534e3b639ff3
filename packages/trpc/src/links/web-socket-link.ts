import { isTokenReason } from '@sallyport/core/protocol'
import {
  createWSClient,
  type OperationLink,
  TRPCClientError,
  type TRPCLink,
  type WebSocketClientOptions,
  type WebSocketLinkOptions as WsLinkOptions,
  wsLink,
} from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import type { AuthClient } from '../client/auth-client.ts'
import type { AuthClientError } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { clientSession } from '../client/client-session.ts'
import { callByCall } from './call-by-call.ts'
import { authDataOf } from './call-error.ts'
import { findPageError } from './find-page-error.ts'

/** What {@link webSocketLink} takes: what `createWSClient` and `wsLink` do, but for the credentials. */
export type WebSocketLinkOptions<Router extends AnyTRPCRouter> = Omit<
  WebSocketClientOptions,
  'connectionParams'
> &
  Omit<WsLinkOptions<Router>, 'client'>

/** The code that the server closes the socket of a banned user with. */
const BANNED = 4403

/** The close code of a socket whose credentials were superseded. */
const SUPERSEDED = 4401

/** The connection of one user. */
interface Line<Router extends AnyTRPCRouter> {
  readonly send: OperationLink<Router>
  /** The generation of the newest JWT when the latest socket was opened. */
  readonly generation: number
  /** How many are under way. */
  calls: number
  close(): void
}

/**
 * Calls over a WebSocket, behind {@link authLink}, with tRPC's `createWSClient` and `wsLink`. The first call
 * of a user opens it, and it is closed when they sign out or are banned. Each connection is made with fresh
 * cookies or a fresh token, which travels in the first message and never in the URL. A socket whose JWT the
 * server rejects is replaced once there is a newer one. A socket whose credentials were superseded, such as
 * by a change of the password, reconnects with the new ones. If the server rejects the origin of the page,
 * the link stops trying: calls and `state.error` get `ORIGIN_REJECTED`, whose message says how to allow it.
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
  const { url, onOpen, onClose } = options
  return (runtime) => {
    let current: Line<Router> | undefined
    /** The newest JWT that the server has refused. */
    let refused = -1
    /** Why the server rejects sockets from this page. */
    let pageError: AuthClientError | null = null

    function open(): Line<Router> {
      const { userChanges } = session.getState()
      let { generation } = session
      let isClosed = false
      let isOpen = false
      const client = createWSClient({
        retryDelayMs: (attempts) => backOff(attempts + 1, null),
        ...options,
        WebSocket: callByCall(options.WebSocket ?? WebSocket),
        async url() {
          if (generation > refused) await session.refreshIfDue()
          // Without a newer JWT the server rejects each call and says why.
          else await session.refreshAfter(generation).catch(() => {})
          if (isClosed) throw new Error('Closed')
          generation = session.generation
          return typeof url === 'function' ? url() : url
        },
        ...(session.tokens && {
          connectionParams: () => ({ token: session.tokens?.current() ?? undefined }),
        }),
        onOpen() {
          isOpen = true
          onOpen?.()
        },
        onClose(cause) {
          if (!isOpen && !isClosed) void stopIfRejected()
          isOpen = false
          if (cause?.code === BANNED) {
            session.report('ACCOUNT_BANNED', userChanges)
            line.close()
          }
          if (cause?.code === SUPERSEDED) refused = Math.max(refused, generation)
          onClose?.(cause)
        },
      })
      const unfollow = session.subscribe(() => {
        const state = session.getState()
        if (state.userChanges === userChanges && state.status !== 'signing-out') return
        line.close()
        // A sign-out waits for no answer but those to the user's own queries and mutations.
        if (state.userChanges !== userChanges || line.calls === 0) client.connection?.ws.close()
      })
      async function stopIfRejected(): Promise<void> {
        pageError ??= await findPageError(session)
        if (pageError !== null) line.close()
      }
      const line: Line<Router> = {
        send: wsLink<Router>({ ...options, client } as WsLinkOptions<Router>)(runtime),
        get generation() {
          return generation
        },
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
        if (pageError !== null) return observer.error(TRPCClientError.from(pageError))
        refused = Math.max(refused, session.get().oldestGeneration - 1)
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
            observer.error(pageError === null ? error : TRPCClientError.from(pageError))
          },
          complete() {
            // Closing a line completes its subscriptions.
            if (pageError === null) observer.complete()
            else observer.error(TRPCClientError.from(pageError))
          },
        })
        return () => {
          subscription.unsubscribe()
          if (--line.calls === 0 && line !== current) line.close()
        }
      })
  }
}
