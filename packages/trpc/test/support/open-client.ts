import { TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import {
  type AuthClient,
  type AuthClientOptions,
  authLink,
  createAuthClient,
  subscriptionLink,
  webSocketLink,
} from '@sallyport/trpc/client'
import {
  createTRPCClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  type TRPCClient,
  type TRPCLink,
} from '@trpc/client'
import { EventSource } from 'eventsource'
import { WebSocket } from 'ws'
import type { AppRouter } from './router.ts'
import { PATHS, type TestServer } from './start-server.ts'
import { ORIGIN } from './visitor.ts'

export type AppAuthClient = AuthClient<TestServer['auth']['api']>
export type AppClient = TRPCClient<AppRouter>

/** Replaces the server's responses. Undefined passes the request on. */
type Intercept = (path: string, send: () => Promise<Response>) => Promise<Response> | undefined

/** A socket at its opening. */
export interface OpenedSocket {
  readonly url: string
  readonly cookie: string
  readonly socket: WebSocket
}

/** A separate browser with our client. */
export interface ClientScene {
  readonly authClient: AppAuthClient
  readonly jar: Map<string, string>
  /** The HTTP requests: `token`, `sign-out`, or the procedures' paths. */
  readonly requests: string[]
  /** Counts the requests of that name. */
  count(request: string): number
  intercept: Intercept
  readonly sockets: OpenedSocket[]
  /** Frames sent on any socket. */
  readonly frames: string[]
  /** Breaks the network: all sockets and event streams are lost. */
  breakConnections(): void
  /** The page's `WebSocket`. */
  readonly WebSocket: typeof globalThis.WebSocket
  /** Puts a session's cookies into the jar. */
  take(session: Pick<TestSession, 'cookie'>): void
  /** Signs in without a password check. */
  signIn(session: TestSession): Promise<void>
  connect(link: LinkName): AppClient
  /** Creates a client with `authLink` before that link. */
  connectOver(link: TRPCLink<AppRouter>): AppClient
}

/** A browser of a signed-in user, whose client knows the user. */
export type SignedInScene = ClientScene & { readonly session: TestSession }

/** Opens a separate browser for a user. */
export async function openSignedIn(server: TestServer, user: { userId?: string }): Promise<SignedInScene> {
  const session = await server.auth.signIn(user)
  const scene = Object.assign(openClient(server, session), { session })
  await scene.authClient.refresh()
  return scene
}

/** Waits for longer than a client's shortest delay, so an unwanted request would have been sent. */
export const pause = () => new Promise((resolve) => setTimeout(resolve, 600))

/** Links that carry queries and mutations. */
export const CALL_LINKS = ['httpLink', 'httpBatchLink', 'httpBatchStreamLink', 'webSocketLink'] as const
/** Links that carry subscriptions. */
export const STREAM_LINKS = ['subscriptionLink', 'webSocketLink'] as const
export type LinkName = (typeof CALL_LINKS | typeof STREAM_LINKS)[number]

/**
 * Opens a browser with a session's cookies, if there is one. It signs out and disconnects when the server is
 * cleared.
 */
export function openClient(
  server: TestServer,
  session?: Pick<TestSession, 'cookie'>,
  options: Omit<AuthClientOptions, 'baseUrl' | 'fetch'> = {},
): ClientScene {
  const jar: ClientScene['jar'] = new Map()
  const requests: string[] = []
  const sockets: OpenedSocket[] = []
  const frames: string[] = []
  let broken = new AbortController()
  const base = `http://${server.host}`
  let signingIn: TestSession | undefined
  const cookie = () => [...jar].map((pair) => pair.join('=')).join('; ')

  async function fetchAs(
    input: string | URL | Request,
    {
      signal,
      credentials,
      ...init
    }: Omit<RequestInit, 'signal'> & { signal?: AbortSignal | null | undefined } = {},
  ): Promise<Response> {
    const url = new URL(input instanceof Request ? input.url : input)
    const path = url.pathname.split('/').at(-1) ?? ''
    requests.push(path)
    if (path === 'email' && signingIn !== undefined) {
      scene.take(signingIn)
      const { userId, sessionId } = signingIn
      return Response.json({ userId, sessionId, expiresIn: 900, expiresAt: '' })
    }
    const headers = new Headers(init.headers)
    headers.set('origin', ORIGIN)
    if (credentials !== 'omit') headers.set('cookie', cookie())
    const send = () => fetch(input, { ...init, headers, signal: signal ?? null })
    const response = await (scene.intercept(path, send) ?? send())
    for (const setCookie of credentials === 'omit' ? [] : response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    const { readable, writable } = new TransformStream()
    response.body?.pipeTo(writable, { signal: broken.signal }).catch(() => {})
    return new Response(readable, response)
  }

  const BrowserSocket: unknown = class extends WebSocket {
    constructor(url: string | URL) {
      super(url, { headers: { origin: ORIGIN, cookie: cookie() } })
      sockets.push({ url: String(url), cookie: cookie(), socket: this })
    }
    override send(data: string) {
      frames.push(data)
      super.send(data)
    }
  }

  const authClient: AppAuthClient = createAuthClient<TestServer['auth']['api']>({
    isServer: false,
    baseUrl: base,
    fetch: fetchAs,
    ...options,
  })
  const http = { url: `${base}${PATHS.node}`, fetch: authClient.fetch, maxItems: 20 }
  const links: Record<LinkName, () => TRPCLink<AppRouter>> = {
    httpLink: () => httpLink(http),
    httpBatchLink: () => httpBatchLink(http),
    httpBatchStreamLink: () => httpBatchStreamLink(http),
    webSocketLink: () =>
      webSocketLink(authClient, { url: `ws://${server.host}/ws`, WebSocket: scene.WebSocket }),
    subscriptionLink: () => subscriptionLink(authClient, { url: http.url, EventSource }),
  }

  const scene: ClientScene = {
    authClient,
    jar,
    requests,
    count: (request) => requests.filter((path) => path === request).length,
    intercept: () => undefined,
    sockets,
    frames,
    breakConnections() {
      broken.abort(new TypeError('terminated'))
      broken = new AbortController()
      for (const { socket } of sockets) socket.terminate()
    },
    WebSocket: BrowserSocket as typeof globalThis.WebSocket,
    take({ cookie }) {
      for (const pair of cookie.split('; ')) {
        const [name = '', value = ''] = pair.split(/=(.*)/)
        jar.set(name, value)
      }
    },
    async signIn(session) {
      signingIn = session
      await authClient.api.signInEmail({ email: 'any@example.com', password: TEST_PASSWORD })
    },
    connect: (link) => scene.connectOver(links[link]()),
    connectOver: (link) => createTRPCClient<AppRouter>({ links: [authLink(authClient), link] }),
  }
  if (session !== undefined) scene.take(session)
  server.clients.add({
    async close() {
      scene.intercept = () => Promise.resolve(Response.json({ success: true }))
      await authClient.signOut()
      scene.breakConnections()
    },
  })
  return scene
}
