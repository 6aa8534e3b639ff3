import { createAuthContext } from '@sallyport/trpc'
import {
  createTRPCClient,
  createWSClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  httpSubscriptionLink,
  type TRPCClient,
  type TRPCLink,
  wsLink,
} from '@trpc/client'
import { EventSource } from 'eventsource'
import { WebSocket } from 'ws'
import { callerPaths, type Outcome, outcomeOf } from './outcome.ts'
import { type AppRouter, createCaller } from './router.ts'
import { PATHS, type TestServer } from './start-server.ts'
import { openStream } from './stream.ts'
import type { Visitor } from './visitor.ts'

/** Every way to call a procedure, over both HTTP adapters. */
export const CALL_PATHS = [
  'httpLink over node',
  'httpLink over fetch',
  'httpBatchLink over node',
  'httpBatchLink over fetch',
  'httpBatchStreamLink over node',
  'httpBatchStreamLink over fetch',
  'httpSubscriptionLink over node',
  'httpSubscriptionLink over fetch',
  'wsLink',
  'createCaller',
] as const
export type CallPath = (typeof CALL_PATHS)[number]
export type HttpPath = Exclude<CallPath, 'wsLink' | 'createCaller'>

export type Client = TRPCClient<AppRouter>

/** A client over an HTTP link, with its responses. */
export interface HttpConnection {
  readonly client: Client
  readonly answers: { status: number; headers: Headers }[]
}

/** Creates a client over an HTTP link. */
export function connectHttp(server: TestServer, visitor: Visitor, transport: HttpPath): HttpConnection {
  const [linkName, , adapter] = transport.split(' ')
  const url = `http://${server.host}${adapter === 'node' ? PATHS.node : PATHS.fetch}`
  const answers: HttpConnection['answers'] = []

  async function fetchAs(
    input: RequestInfo | URL,
    { signal, ...init }: Omit<RequestInit, 'signal'> & { signal?: AbortSignal | null | undefined } = {},
  ): Promise<Response> {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(visitor.headers)) headers.set(name, value)
    const response = await fetch(input, { ...init, headers, signal: signal ?? null })
    answers.push({ status: response.status, headers: response.headers })
    return response
  }

  const links: Record<string, () => TRPCLink<AppRouter>> = {
    httpLink: () => httpLink({ url, fetch: fetchAs }),
    httpBatchLink: () => httpBatchLink({ url, fetch: fetchAs }),
    httpBatchStreamLink: () => httpBatchStreamLink({ url, fetch: fetchAs }),
    httpSubscriptionLink: () =>
      httpSubscriptionLink({
        url,
        EventSource,
        eventSourceOptions: () => ({ fetch: fetchAs }),
        ...(visitor.connectionParams !== undefined && { connectionParams: { ...visitor.connectionParams } }),
      }),
  }
  const link = links[linkName ?? '']
  if (link === undefined) throw new TypeError(`No such link: ${linkName}`)
  return { client: createTRPCClient<AppRouter>({ links: [link()] }), answers }
}

/**
 * Creates a client over one WebSocket connection, whose upgrade request has the visitor's headers.
 * `server.reset` closes it.
 */
export function connectWebSocket(server: TestServer, visitor: Visitor): Client {
  const socket = createWSClient({
    url: `ws://${server.host}/ws`,
    WebSocket: socketWith(visitor.headers),
    ...(visitor.connectionParams !== undefined && { connectionParams: { ...visitor.connectionParams } }),
  })
  server.clients.add(socket)
  return createTRPCClient<AppRouter>({ links: [wsLink({ client: socket })] })
}

/**
 * Returns a socket class whose upgrade requests carry the headers. `ws` has the interface that the client
 * uses.
 */
export function socketWith(headers: Visitor['headers']): typeof globalThis.WebSocket {
  const VisitorSocket: unknown = class extends WebSocket {
    constructor(address: string | URL) {
      super(address, { headers })
    }
  }
  return VisitorSocket as typeof globalThis.WebSocket
}

/** Creates a server-side caller with the page request's headers. */
export function callerFor(
  server: Pick<TestServer, 'config' | 'db' | 'stage'>,
  visitor: Visitor,
  options: { remoteAddress?: string } = {},
): ReturnType<typeof createCaller> {
  const { auth } = createAuthContext(server.config).headers(visitor.headers, options)
  return createCaller(
    { auth, db: server.db, stage: server.stage },
    {
      onError({ error, path }) {
        if (path !== undefined) callerPaths.set(error, path)
      },
    },
  )
}

/** Calls a procedure that needs a session, of the kind that the transport is for. */
export async function ask(
  server: TestServer,
  visitor: Visitor,
  transport: CallPath,
): Promise<Outcome & { status?: number | undefined }> {
  if (transport === 'createCaller') return outcomeOf(callerFor(server, visitor).me())
  if (transport === 'wsLink') return outcomeOf(connectWebSocket(server, visitor).me.query())
  const { client, answers } = connectHttp(server, visitor, transport)
  const outcome = transport.startsWith('httpSubscriptionLink')
    ? await firstOf(openStream(client.clock))
    : await outcomeOf(client.me.query())
  return { ...outcome, status: answers[0]?.status }
}

/** Returns tRPC's HTTP status of a response. Streams are always 200. Two transports have no status. */
export function statusOn(transport: CallPath, status: number): number | undefined {
  if (transport === 'wsLink' || transport === 'createCaller') return undefined
  return transport.startsWith('httpBatchStreamLink') || transport.startsWith('httpSubscriptionLink')
    ? 200
    : status
}

async function firstOf(stream: ReturnType<typeof openStream>): Promise<Outcome> {
  const outcome = await stream.first
  stream.unsubscribe()
  return outcome
}
