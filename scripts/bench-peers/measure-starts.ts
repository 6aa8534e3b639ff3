import type { ServerName } from './peers.ts'
import { startPeer } from './start-peer.ts'

const CALLS = 3_200
const CONNECTIONS = 32

/** Milliseconds to the first response of a new process, and its bytes after the same load. */
export interface Start {
  readonly ms: number
  readonly rss: number
}

/** Starts a server, calls a guarded procedure, and again 3,200 times. */
export async function measureStart(
  name: ServerName,
  { folder, databaseUrl, cookies }: { folder: string; databaseUrl: string; cookies: readonly string[] },
): Promise<Start> {
  const startedAt = performance.now()
  const server = await startPeer(name, { folder, databaseUrl })
  const call = async (i: number) => {
    const headers = { cookie: cookies[i % cookies.length] ?? '', 'x-sallyport': '1' }
    const response = await fetch(`http://127.0.0.1:${server.port}/trpc/guarded`, { headers })
    if (response.status !== 200) throw new Error(`${name} responded with ${response.status}`)
    await response.arrayBuffer()
  }
  await call(0)
  const ms = performance.now() - startedAt
  for (let i = 0; i < CALLS; i += CONNECTIONS)
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => call(i + connection)))
  const { rss } = await server.usage('memory')
  await server.stop()
  return { ms, rss }
}
