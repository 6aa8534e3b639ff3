import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A proxy between a node and its PostgreSQL server, like a pooler that accepts LISTEN and never delivers. */
export interface QuietProxy {
  /** The database URL for the node. */
  readonly url: string
  /** How many notifications it has dropped. */
  readonly dropped: number
  /** Passes notifications on. */
  deliver(): void
  close(): void
}

/** The type of PostgreSQL's message for a notification. */
const NOTIFICATION = 'A'.charCodeAt(0)

/** Starts a proxy that drops notifications, for the server of a URL. */
export async function startQuietProxy(databaseUrl: string): Promise<QuietProxy> {
  const target = new URL(databaseUrl)
  const open = new Set<Socket>()
  let isQuiet = true
  let dropped = 0

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
    }
    client.pipe(upstream)
    let unread: Buffer = Buffer.alloc(0)
    upstream.on('data', (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk])
      while (unread.length >= 5) {
        const end = 1 + unread.readInt32BE(1)
        if (unread.length < end) return
        if (isQuiet && unread[0] === NOTIFICATION) dropped++
        else client.write(unread.subarray(0, end))
        unread = unread.subarray(end)
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const url = new URL(databaseUrl)
  url.port = String(typeof address === 'object' ? address?.port : '')
  return {
    url: url.href,
    get dropped() {
      return dropped
    },
    deliver() {
      isQuiet = false
    },
    close() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}
