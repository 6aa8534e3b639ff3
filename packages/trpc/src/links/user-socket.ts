import { BANNED_CODE, CLIENT_HEADER, CREDENTIALS_REPLACED_CODE } from '@sallyport/core/internal/protocol'
import {
  createWSClient,
  type OperationLink,
  type TRPCWebSocketClient,
  type WebSocketClientOptions,
  type WebSocketLinkOptions as WsLinkOptions,
} from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { AuthClientError, isDecided, toClientError } from '../client/auth-client-error.ts'
import { backOff } from '../client/back-off.ts'
import { createStore, type Store } from '../client/client-session.ts'
import { routeOf } from '../client/route-of.ts'
import type { LinkSession } from './link-session.ts'

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
  readonly send: OperationLink<AnyTRPCRouter>
  /** Remembers that the server rejects the JWT of the connection. */
  reject(): void
  /** Returns whether it is closed, or its JWT doesn't work any more and the client has a newer one. */
  isOutdated(): boolean
  /** Whether a reconnect has failed since the socket was open or idle. */
  readonly isDown: Pick<Store<boolean>, 'get' | 'subscribe'>
  callsInFlight: number
  close(): void
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
  let generation = session.get().generation
  let rejected = -1
  let isClosed = false
  let isOpen = false
  const isDown = createStore(false)

  const client = createWSClient({
    ...options,
    retryDelayMs(attempts) {
      // While tRPC replaces an open connection, that one still serves calls.
      if (attempts && client.connectionState.get().state === 'connecting') isDown.set(true)
      return retryDelayMs(attempts)
    },
    WebSocket: oneCallPerFrame(options.WebSocket ?? WebSocket, options.headers),
    async url() {
      if (generation > rejected) await session.refreshIfDue()
      // Without a newer JWT the server rejects each call and says why.
      else await session.refreshAfter(generation).catch(() => {})
      const { isRestored, shown } = session.get()
      // After a final error, the server rejects each call with it.
      const isFinal = shown.error && isDecided(shown.error)
      if (isClosed || (isRestored && !isFinal)) throw new Error('Closed')
      generation = session.get().generation
      return typeof url === 'function' ? url() : url
    },
    ...(session.tokens && { connectionParams: () => ({ token: session.tokens?.current() ?? undefined }) }),
    onOpen() {
      isOpen = true
      onOpen?.()
    },
    onClose(cause) {
      if (!isOpen && !isClosed) void findPageError(session)
      isOpen = false
      if (cause?.code === BANNED_CODE) {
        session.report('ACCOUNT_BANNED', userChanges)
        socket.close()
      }
      if (cause?.code === CREDENTIALS_REPLACED_CODE) socket.reject()
      // Otherwise, it would follow the session, and a program would never end.
      if (options.lazy?.enabled && socket.callsInFlight === 0) socket.close()
      onClose?.(cause)
    },
  })

  client.connectionState.subscribe({ next: ({ error }) => error || isDown.set(false) })
  const unfollow = session.subscribe(() => {
    const { pageError, shown } = session.get()
    const isOther = shown.userChanges !== userChanges
    if (!isOther && shown.status !== 'signing-out' && !pageError) return
    socket.close()
    // A sign-out waits only for responses to the user's own queries and mutations.
    if (isOther || socket.callsInFlight === 0) client.connection?.ws.close()
  })

  const socket: UserSocket = {
    send: createLink(client),
    reject() {
      rejected = generation
    },
    isOutdated() {
      const newest = session.get()
      // A rejected JWT is outdated once there is a newer one.
      const oldest = generation === rejected ? newest.generation : newest.oldestGeneration
      return isClosed || generation < oldest
    },
    isDown,
    callsInFlight: 0,
    close() {
      isClosed = true
      client.close().then(unfollow, unfollow)
    },
  }
  return socket
}

/** Splits tRPC's batches: a frame has at most 64 KB, and 20 calls if the app has no `webSocketOptions`. */
function oneCallPerFrame(Base: typeof WebSocket, headers: SocketOptions['headers']): typeof WebSocket {
  return class extends Base {
    constructor(url: string | URL) {
      // The types of browsers have only protocols.
      super(url, ...((headers ? [{ headers: headers() }] : []) as []))
    }

    override send(data: Parameters<WebSocket['send']>[0]): void {
      // The encoder of an app sends no JSON, or one call per frame.
      if (typeof data !== 'string' || data[0] !== '[') super.send(data)
      else for (const call of JSON.parse(data)) super.send(JSON.stringify(call))
    }
  }
}

/** Checks whether the server accepts the page's origin. With bearer transport, any origin may connect. */
async function findPageError(session: LinkSession): Promise<void> {
  const origin = globalThis.location?.origin
  if (!origin || session.tokens) return
  const headers = { [CLIENT_HEADER]: origin }
  let error = await session.fetchEndpoint(routeOf('getSession'), { headers }).then(() => null, toClientError)
  if (error?.code !== 'ORIGIN_REJECTED') return
  try {
    // Written so bundlers can replace the expression and drop the text from production code.
    if (process.env.NODE_ENV !== 'production')
      error = new AuthClientError(403, {
        code: 'ORIGIN_REJECTED',
        message:
          `The server rejects WebSockets from ${origin}. ` +
          `Open the app at its base URL, or add ${origin} to allowedOrigins.`,
      })
  } catch {
    // Browsers have no `process`.
  }
  session.dispatch({ type: 'page-rejected', error })
}
