import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the ports that the system gives out. No other process takes one before its server starts, or while
// it's down.
const FIRST_PORT = 20_000
const PORTS = 12_000

/** Returns a port that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
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
