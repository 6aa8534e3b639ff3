import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * Runs a proxy that delays everything by half of a round trip in each direction, like a database in another
 * region. Returns its port.
 */
export async function startLatencyProxy(target: number, roundTripMs: number): Promise<number> {
  const open = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(from)
      from.setNoDelay(true)
      // Timers of the same delay run in order.
      from.on('data', (chunk) => void setTimeout(() => to.write(chunk), roundTripMs / 2))
      from.on('end', () => void setTimeout(() => to.end(), roundTripMs / 2))
      from.on('error', () => to.destroy())
      from.on('close', () => open.delete(from))
    }
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    proxy.close()
    for (const socket of open) socket.destroy()
  })
  return (proxy.address() as AddressInfo).port
}
