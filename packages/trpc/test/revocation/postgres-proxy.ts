import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AtEnd } from './at-end.ts'

/** Stands between a node and its PostgreSQL server. */
export interface PostgresProxy {
  /** What the node is to open. */
  readonly url: string
  /** Attempts to connect so far, those of them that led to a connection, and how many were under way at once at most. */
  readonly attempts: { readonly made: number; readonly succeeded: number; readonly mostAtOnce: number }
  /** When a connection was made for the first time after this moment; null where none was. */
  firstConnectedAfter(moment: number): number | null
  /** Lets nothing through any more on the connections of this application name, without closing them. */
  silence(applicationName: string): void
  /** Lets nobody connect; the connections that there are stay. */
  reject(): void
  /** Closes all connections and lets nobody connect. */
  cut(): void
  /** Lets them connect again. */
  mend(): void
}

/** Every attempt takes so long, so that two of them would be seen together. */
const ATTEMPT_MS = 20

/** Type of the message that says that the server is ready for a query. */
const READY = 'Z'

/** Starts a proxy in front of the server of a URL. */
export async function startPostgresProxy(databaseUrl: string, atEnd: AtEnd): Promise<PostgresProxy> {
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
        connectedAt.push(performance.now())
        underWay.delete(client)
      }
      client.write(chunk)
    })
  }
  await once(server.listen(0, '127.0.0.1'), 'listening')
  atEnd(() => {
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

/** True once, with the chunk that holds the first message of the server that it is ready. */
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
