/** Serves one peer: `node app/serve.ts PEER DATABASE_URL`. Sends its port to the parent. */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { PeerModule } from './peer.ts'

const [name = '', databaseUrl = ''] = process.argv.slice(2)
const { open }: PeerModule = await import(`./${name}.ts`)
const peer = await open(databaseUrl)
const server = createServer(
  getRequestListener((request, { incoming }) => peer.respond(request, incoming.socket)),
)
// Connections stay idle while the other peers are measured, even before their first request.
server.keepAliveTimeout = 3_600_000
server.headersTimeout = 0
server.requestTimeout = 0
peer.acceptSockets(server)
process.on('message', (question) => {
  const { user, system } = process.cpuUsage()
  // Not while rates are measured: it costs processor time, and discards compiled code.
  if (question === 'memory') globalThis.gc?.()
  process.send?.({ processor: user + system, rss: process.memoryUsage.rss() })
})
process.once('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' && address !== null ? address.port : 0)
})
