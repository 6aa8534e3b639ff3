import type { IncomingMessage } from 'node:http'
import type { AuthConfig } from '@sallyport/core'
import {
  addressBuckets,
  clientAddress,
  isPrivateAddress,
  trustProxies,
} from '@sallyport/core/internal/server'
import { countDown, countUp } from './count.ts'
import { headerReader } from './request-headers.ts'
import type { SocketLimits } from './socket-limits.ts'

/** The window in which handshakes are counted, in seconds. */
const HANDSHAKE_WINDOW_SECONDS = 10

type Upgrade = Pick<IncomingMessage, 'headers' | 'socket'>

/**
 * Counts handshakes and sockets of each client address, in this process. Of IPv6 it counts the /64, and ten times as many for the /48
 * around it.
 *
 * @returns a function that counts a handshake and returns the seconds to wait if there are too many, else
 * null
 */
export function limitAddresses(
  { trustedProxies }: AuthConfig,
  { maxSocketsPerAddress, maxHandshakesPerAddress }: SocketLimits,
): (request: Upgrade) => number | null {
  const trustsProxy = trustProxies(trustedProxies)
  const sockets = new Map<string, number>()
  const handshakes = new Map<string, number>()
  let windowStart = Number.NEGATIVE_INFINITY
  let hasWarned = false

  /** Returns the address to count by; null if it may be that of our own proxy, which all clients share. */
  function addressOf({ headers, socket }: Upgrade): string | null {
    const { remoteAddress = null } = socket
    const address = clientAddress(remoteAddress, headerReader(headers)('x-forwarded-for'), trustsProxy)
    if (address !== null && (!isPrivateAddress(address) || trustsProxy(address, 0))) return address
    if (!hasWarned)
      console.warn(
        `webSocketOptions: the limits per client address are off for connections from ${address ?? 'an unknown address'}. ` +
          `If that is your proxy, add it to trustedProxies, and pass on X-Forwarded-For.`,
      )
    hasWarned = true
    return null
  }

  function bucketsOf(address: string, points: number): ReturnType<typeof addressBuckets> {
    return addressBuckets(address, { points, duration: HANDSHAKE_WINDOW_SECONDS })
  }

  function countHandshake(address: string): number | null {
    const now = performance.now()
    const windowMs = HANDSHAKE_WINDOW_SECONDS * 1_000
    if (now - windowStart >= windowMs) {
      windowStart = now
      handshakes.clear()
    }
    // A /64 that is over its limit doesn't use up that of the /48.
    const isOver =
      bucketsOf(address, maxHandshakesPerAddress).some(
        ({ name, limit }) => countUp(handshakes, name) > limit.points,
      ) ||
      bucketsOf(address, maxSocketsPerAddress).some(
        ({ name, limit }) => (sockets.get(name) ?? 0) >= limit.points,
      )
    return isOver ? Math.ceil((windowStart + windowMs - now) / 1_000) : null
  }

  return (request) => {
    const address = addressOf(request)
    if (address === null) return null
    const retryAfterSeconds = countHandshake(address)
    if (retryAfterSeconds !== null) return retryAfterSeconds
    // A socket that closed while the app looked at the upgrade emits no `close` anymore.
    if (request.socket.destroyed) return null
    const names = bucketsOf(address, maxSocketsPerAddress).map(({ name }) => name)
    for (const name of names) countUp(sockets, name)
    request.socket.once('close', () => {
      for (const name of names) countDown(sockets, name)
    })
    return null
  }
}
