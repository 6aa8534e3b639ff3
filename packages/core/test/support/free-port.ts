import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the ports that the system gives out. No other process takes one before its server starts, or while
// it's down.
const FIRST_PORT = 20_000
// Each worker has its own, because another could take one before its server starts.
const WORKERS = 8
const PORTS = 12_000 / WORKERS
let next = Math.floor(Math.random() * PORTS)

/** Returns a port that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS
    const port = FIRST_PORT + worker * PORTS + (next++ % PORTS)
    const probe = createServer()
    try {
      await once(probe.listen(port), 'listening')
      return port
    } catch {
      // Another process uses it.
    } finally {
      probe.close()
    }
  }
}
