import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { neonConfig } from '@neondatabase/serverless'

interface Sockets {
  WebSocketServer: new (
    options: object,
  ) => { on(event: 'connection', listener: (socket: object) => void): void }
  createWebSocketStream(socket: object): Duplex
}

/** `miniflare` depends on it. */
const { WebSocketServer, createWebSocketStream }: Sockets = createRequire(
  createRequire(import.meta.url).resolve('miniflare'),
)('ws')

/** Connects Neon's driver to a server on this machine, through a proxy between WebSocket and TCP. */
export async function startNeonProxy(target: number): Promise<() => void> {
  const server = createServer()
  new WebSocketServer({ server }).on('connection', (socket) => {
    const upstream = connect(target, '127.0.0.1')
    const stream = createWebSocketStream(socket)
    stream.on('error', () => upstream.destroy())
    upstream.on('error', () => stream.destroy())
    stream.pipe(upstream).pipe(stream)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  neonConfig.wsProxy = () => `127.0.0.1:${port}/v1`
  neonConfig.useSecureWebSocket = false
  neonConfig.pipelineConnect = false
  return () => {
    server.closeAllConnections()
    server.close()
  }
}
