import { SESSION_HEADER } from '@sallyport/core/internal/protocol'
import {
  type AuthClient,
  authLink,
  bearer,
  createAuthClient,
  subscriptionLink,
  webSocketLink,
} from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink, splitLink, type TRPCClient } from '@trpc/client'
import { EventSource } from 'eventsource'
import { WebSocket } from 'ws'
import { ORIGIN } from '../support/visitor.ts'
import type { CopiesApi, CopiesApp, SignedIn } from './open-app.ts'
import type { AppRouter } from './router.ts'

type Fetch = typeof globalThis.fetch

/** A page with our client and a stream that stays open. */
export interface Tab {
  readonly authClient: AuthClient<CopiesApi>
  readonly trpc: TRPCClient<AppRouter>
  /** The values that its stream emitted. */
  readonly ticks: number[]
  /** Why its stream ended, or null while it is open. */
  ended(): string | null
  /** Signs out and closes everything. */
  close(): Promise<void>
}

/** The two tabs of the owner's browser, which share its cookies. */
export interface OwnBrowser {
  readonly jar: Map<string, string>
  readonly cookie: () => string
  readonly fetch: Fetch
  /** The tab over HTTP with server-sent events. */
  readonly page: Tab
  /** The tab over WebSocket. */
  readonly socketPage: Tab
}

let browsers = 0

/** Returns a new origin for each browser, since browsers share neither locks nor messages. */
const nextOrigin = () => `http://browser-${++browsers}.example`

/** Returns a `fetch` that calls the app from an address, with the cookies of a jar. */
export function fetchFrom(app: CopiesApp, address: string, jar?: Map<string, string>): Fetch {
  return async (input, { signal, ...init } = {}) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input, 'http://relative')
    const headers = new Headers(init.headers)
    headers.set('origin', ORIGIN)
    headers.set('x-forwarded-for', address)
    if (jar !== undefined && init.credentials !== 'omit') headers.set('cookie', cookieOf(jar))
    const response = await fetch(`http://${app.host}${pathname}${search}`, {
      ...init,
      headers,
      signal: signal ?? null,
    })
    if (jar !== undefined) for (const setCookie of response.headers.getSetCookie()) take(jar, setCookie)
    return response
  }
}

/** Returns the `Cookie` header of a browser. */
export const cookieOf = (jar: ReadonlyMap<string, string>) =>
  [...jar].map((pair) => pair.join('=')).join('; ')

/** Applies a `Set-Cookie` header. */
export function take(jar: Map<string, string>, setCookie: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? []
  if (value === '') jar.delete(name)
  else jar.set(name, value)
}

export function openOwnBrowser(app: CopiesApp, session: SignedIn, address: string): OwnBrowser {
  const { cookies } = app.config
  const jar = new Map([
    [cookies.jwt, session.token],
    [cookies.session, session.sessionCookie],
  ])
  const cookie = () => cookieOf(jar)
  const fetch = fetchFrom(app, address, jar)
  const baseUrl = nextOrigin()
  const { userId, sessionId } = session
  const hydrate = { status: 'authenticated', userId, sessionId, expiresIn: 900 } as const
  const open = () => createAuthClient<CopiesApi>({ isServer: false, baseUrl, fetch, hydrate })

  const pageClient = open()
  const page = openTab(
    pageClient,
    createTRPCClient<AppRouter>({
      links: [
        authLink(pageClient),
        splitLink({
          condition: ({ type }) => type === 'subscription',
          true: subscriptionLink(pageClient, { url: `${baseUrl}/trpc`, EventSource }),
          false: httpBatchLink({ url: `${baseUrl}/trpc`, fetch: pageClient.fetch }),
        }),
      ],
    }),
  )
  const BrowserSocket: unknown = class extends WebSocket {
    constructor(url: string | URL) {
      super(url, { headers: { origin: ORIGIN, cookie: cookie(), 'x-forwarded-for': address } })
    }
  }
  const socketClient = open()
  const socketPage = openTab(
    socketClient,
    createTRPCClient<AppRouter>({
      links: [
        authLink(socketClient),
        webSocketLink(socketClient, {
          url: `ws://${app.host}/ws`,
          WebSocket: BrowserSocket as typeof globalThis.WebSocket,
        }),
      ],
    }),
  )
  return { jar, cookie, fetch, page, socketPage }
}

function openTab(authClient: Tab['authClient'], trpc: Tab['trpc']): Tab {
  const ticks: number[] = []
  let ended: string | null = null
  const stop = authClient.subscribe(() => {})
  const stream = trpc.ticks.subscribe(undefined, {
    onData: ({ data }) => void ticks.push(data),
    onError(error) {
      ended = `${error.data?.auth?.reason} ${error.message}`
    },
    onComplete() {
      ended ??= 'completed'
    },
  })
  return {
    authClient,
    trpc,
    ticks,
    ended: () => ended,
    async close() {
      stream.unsubscribe()
      if (authClient.getState().status !== 'unauthenticated') await authClient.signOut()
      stop()
    },
  }
}

/** A program of the owner with bearer tokens and a separate session. */
export interface OwnProgram {
  readonly authClient: AuthClient<CopiesApi>
  readonly trpc: TRPCClient<AppRouter>
  /** Returns its current tokens. */
  kept(): { readonly token: string; readonly sessionToken: string }
  close(): Promise<void>
}

export function openOwnProgram(app: CopiesApp, session: SignedIn, address: string): OwnProgram {
  const baseUrl = nextOrigin()
  const key = `sallyport ${baseUrl}`
  const { token, sessionCookie: sessionToken, userId, sessionId } = session
  const receipt = { userId, sessionId, expiresIn: 900, seq: Date.now(), token, sessionToken }
  const items = new Map([[key, JSON.stringify(receipt)]])
  const authClient = createAuthClient<CopiesApi>({
    baseUrl,
    fetch: fetchFrom(app, address),
    transport: bearer({
      getItem: (name) => items.get(name),
      setItem: (name, value) => void items.set(name, value),
      removeItem: (name) => void items.delete(name),
    }),
  })
  const stop = authClient.subscribe(() => {})
  const http = httpBatchLink({ url: `${baseUrl}/trpc`, fetch: authClient.fetch })
  return {
    authClient,
    trpc: createTRPCClient<AppRouter>({ links: [authLink(authClient), http] }),
    kept: () => JSON.parse(items.get(key) ?? '{}'),
    async close() {
      if (authClient.getState().status !== 'unauthenticated') await authClient.signOut()
      stop()
    },
  }
}

/** Returns the header in which a program sends its session token. */
export const sessionHeader = (sessionToken: string) => ({ [SESSION_HEADER]: sessionToken })
