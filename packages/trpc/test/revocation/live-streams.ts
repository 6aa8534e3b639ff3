import {
  createTRPCClient,
  createWSClient,
  httpSubscriptionLink,
  type TRPCClient,
  TRPCClientError,
  wsLink,
} from '@trpc/client'
import { EventSource } from 'eventsource'
import { WebSocket } from 'ws'
import { noAnswer, rejectionOf } from './answer.ts'
import { openSocket, subscribeOverEvents } from './calls.ts'
import { BASE_URL } from './node-settings.ts'
import type { RevocationRouter } from './revocation-node.ts'
import type { SignedIn } from './signed-in-users.ts'
import type { Node } from './start-nodes.ts'
import { createRecord, type LiveStream } from './stream-record.ts'

/** Opens the clock. */
type Open = (node: Node, caller: SignedIn) => Promise<LiveStream> | LiveStream

/** Every kind of live stream: with tRPC's client, and on the wire, where nothing after the end is hidden. */
export const STREAMS: readonly { stream: string; open: Open }[] = [
  { stream: 'WebSocket', open: async (node, caller) => (await openSocket(node, caller)).subscribe() },
  { stream: 'server-sent events', open: subscribeOverEvents },
  { stream: 'wsLink', open: overWsLink },
  { stream: 'httpSubscriptionLink', open: overSubscriptionLink },
]

function overWsLink({ host }: Node, caller: SignedIn): LiveStream {
  const client = createWSClient({ url: `ws://${host}/ws`, WebSocket: socketOf(caller) })
  const trpc = createTRPCClient<RevocationRouter>({ links: [wsLink({ client })] })
  return read(trpc, caller, () => void client.close())
}

function overSubscriptionLink({ host }: Node, { cookie, ...caller }: SignedIn): LiveStream {
  const fetchAs = (input: string | URL | Request, init?: RequestInit) => {
    const headers = new Headers(init?.headers)
    headers.set('cookie', cookie)
    headers.set('origin', BASE_URL)
    return fetch(input, { ...init, headers })
  }
  const trpc = createTRPCClient<RevocationRouter>({
    links: [
      httpSubscriptionLink({
        url: `http://${host}/trpc`,
        EventSource,
        eventSourceOptions: () => ({ fetch: fetchAs }),
      }),
    ],
  })
  return read(trpc, caller, () => {})
}

function read(
  client: TRPCClient<RevocationRouter>,
  caller: Pick<SignedIn, 'userId'>,
  close: () => void,
): LiveStream {
  const record = createRecord(caller)
  const endWith = (error: unknown) => record.end(rejectionOf(error))
  const subscription = client.clock.subscribe(undefined, {
    onData: record.value,
    onError: endWith,
    onComplete: () => record.end(noAnswer('it just ended')),
    // Over server-sent events, the client would retry after a 503, and only reports it here.
    onConnectionStateChange({ error }) {
      if (!(error instanceof TRPCClientError) || error.data == null) return
      endWith(error)
      subscription.unsubscribe()
    },
  })
  return {
    ...record.stream,
    close() {
      subscription.unsubscribe()
      close()
    },
  }
}

/**
 * Returns a socket class whose upgrade requests carry cookies. `ws` has the interface that the client uses.
 */
function socketOf({ cookie }: SignedIn): typeof globalThis.WebSocket {
  const SignedInSocket: unknown = class extends WebSocket {
    constructor(address: string | URL) {
      super(address, { headers: { cookie, origin: BASE_URL } })
    }
  }
  return SignedInSocket as typeof globalThis.WebSocket
}
