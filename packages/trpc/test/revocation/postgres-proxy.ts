import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OnCleanup } from './cleanup.ts'

/** A proxy between a node and its PostgreSQL server. */
export interface PostgresProxy {
  /** The database URL for the node. */
  readonly url: string
  /** Connection attempts so far, the successful ones, and the maximum at once. */
  readonly attempts: { readonly made: number; readonly succeeded: number; readonly mostAtOnce: number }
  /** Returns when the first connection after this moment was made, or null. */
  firstConnectedAfter(moment: number): number | null
  /** Stops forwarding on the connections of this application name, without closing them. */
  silence(applicationName: string): void
  /** Rejects new connections. Existing ones stay. */
  reject(): void
  /** Closes all connections and rejects new ones. */
  cut(): void
  /** Accepts connections again. */
  mend(): void
}

/** Delays every attempt, so concurrent attempts are detected. */
const ATTEMPT_MS = 20

/** The type of the message that the server is ready for a query. */
const READY = 'Z'

/** Starts a proxy for the server of a URL. */
export async function startPostgresProxy(databaseUrl: string, onCleanup: OnCleanup): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const attempts = { made: 0, succeeded: 0, mostAtOnce: 0 }
  const connections = new Set<{ readonly sockets: readonly Socket[]; name: string; isSilent: boolean }>()
  const connectedAt: number[] = []
  const underWay = new Set<Socket>()
  let isRejecting = false

  const server = createServer((client) => void serve(client))
  async function serve(client: Socket): Promise<void> {
    attempts.made++
    underWay.add(client)
    attempts.mostAtOnce = Math.max(attempts.mostAtOnce, underWay.size)
    client.on('error', () => {}).on('close', () => underWay.delete(client))
    await sleep(ATTEMPT_MS)
    if (isRejecting) return void client.destroy()
    const upstream = connect(Number(target.port), target.hostname)
    const connection = { sockets: [client, upstream], name: '', isSilent: false }
    connections.add(connection)
    upstream
      .on('error', () => {})
      .on('close', () => {
        connections.delete(connection)
        client.destroy()
      })
    client.on('close', () => upstream.destroy())
    client.once('data', (startup: Buffer) => {
      connection.name = /\0application_name\0([^\0]*)/.exec(String(startup))?.[1] ?? ''
    })
    client.on('data', (chunk) => connection.isSilent || upstream.write(chunk))
    const isReady = readyDetector()
    upstream.on('data', (chunk: Buffer) => {
      if (connection.isSilent) return
      if (isReady(chunk)) {
        attempts.succeeded++
        connectedAt.push(Date.now())
        underWay.delete(client)
      }
      client.write(chunk)
    })
  }
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onCleanup(() => {
    server.close()
    cutAll()
  })

  function cutAll(): void {
    for (const { sockets } of connections) for (const socket of sockets) socket.destroy()
  }

  const address = server.address()
  const url = new URL(databaseUrl)
  url.port = String(typeof address === 'object' ? address?.port : '')
  return {
    url: url.href,
    attempts,
    firstConnectedAfter: (moment) => connectedAt.find((at) => at > moment) ?? null,
    silence(applicationName) {
      for (const connection of connections)
        if (connection.name === applicationName) connection.isSilent = true
    },
    reject() {
      isRejecting = true
    },
    cut() {
      isRejecting = true
      cutAll()
    },
    mend() {
      isRejecting = false
    },
  }
}

/** Returns a function that is true once, for the chunk with the server's first ready message. */
function readyDetector(): (chunk: Buffer) => boolean {
  let unread = Buffer.alloc(0)
  let isOver = false
  return (chunk) => {
    if (isOver) return false
    unread = Buffer.concat([unread, chunk])
    while (unread.length >= 5) {
      const end = 1 + unread.readInt32BE(1)
      if (unread.length < end) return false
      isOver = String.fromCharCode(unread.readUInt8(0)) === READY
      if (isOver) return true
      unread = unread.subarray(end)
    }
    return false
  }
}
