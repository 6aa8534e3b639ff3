import { WebSocket } from 'ws'
import type { KeyFileServer, SignedIn } from './key-file-server.ts'

/** An open clock on the wire. */
export interface Wire {
  /** Messages with a tick so far. */
  readonly ticks: number
  /** The reason of its end, or null while it is open. */
  readonly reason: string | null
}

/** A WebSocket connection. */
export interface Socket {
  /** Calls `me`. Resolves to the reason why it was rejected or the socket closed, or to `accepted`. */
  call(): Promise<string>
  /** Opens the clock and waits until it runs or is rejected. */
  subscribe(): Promise<Wire>
  /** Resolves to the reason with which the server closes the socket. */
  readonly closed: Promise<string>
}

const reasonIn = (text: string): string | null => /"reason":"(\w+)"/.exec(text)?.[1] ?? null

/** Parses messages, and resolves when the clock runs or is rejected. */
function listen(): { wire: Wire; begun: Promise<Wire>; receive(text: string): void } {
  const wire: { ticks: number; reason: string | null } = { ticks: 0, reason: null }
  let begin: (wire: Wire) => void = () => {}
  const begun = new Promise<Wire>((resolve) => {
    begin = resolve
  })
  return {
    wire,
    begun,
    receive(text) {
      if (text.includes('"tick"')) wire.ticks++
      wire.reason ??= reasonIn(text)
      if (wire.ticks > 0 || wire.reason !== null) begin(wire)
    },
  }
}

/** Calls `me` over HTTP. Resolves to the reason of its rejection, or `accepted`. */
export async function callOverHttp({ host }: KeyFileServer, { headers }: SignedIn): Promise<string> {
  const response = await fetch(`http://${host}/trpc/me`, { headers })
  return reasonIn(await response.text()) ?? 'accepted'
}

/** Opens the clock over server-sent events and waits until it runs or is rejected. */
export async function subscribeOverEvents({ host }: KeyFileServer, { headers }: SignedIn): Promise<Wire> {
  const { begun, receive } = listen()
  const response = await fetch(`http://${host}/trpc/clock`, {
    headers: { ...headers, accept: 'text/event-stream' },
  })
  const decoder = new TextDecoder()
  const read = async () => {
    for await (const chunk of response.body ?? []) receive(decoder.decode(chunk, { stream: true }))
  }
  // The server closes open streams after the tests.
  read().catch(() => {})
  return begun
}

/** Connects over WebSocket. */
export async function openSocket({ host }: KeyFileServer, { headers }: SignedIn): Promise<Socket> {
  const socket = new WebSocket(`ws://${host}/ws`, { headers })
  const listeners = new Map<number, (text: string) => void>()
  let lastId = 0
  socket.on('message', (message) => {
    const text = String(message)
    listeners.get(Number(/"id":(\d+)/.exec(text)?.[1]))?.(text)
  })
  const closed = new Promise<string>((resolve) =>
    socket.once('close', (_code, reason) => resolve(String(reason))),
  )
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))

  function send(method: 'query' | 'subscription', path: string, listener: (text: string) => void): void {
    lastId++
    listeners.set(lastId, listener)
    socket.send(JSON.stringify({ id: lastId, method, params: { path } }))
  }

  return {
    closed,
    call() {
      const answered = new Promise<string>((resolve) =>
        send('query', 'me', (text) => resolve(reasonIn(text) ?? 'accepted')),
      )
      return Promise.race([answered, closed])
    },
    subscribe() {
      const { begun, receive } = listen()
      send('subscription', 'clock', receive)
      return begun
    },
  }
}
