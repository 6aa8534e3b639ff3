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

const HANDSHAKE_WINDOW_MS = 10_000

type Upgrade = Pick<IncomingMessage, 'headers' | 'socket'>

/**
 * Returns a function that counts a handshake and the socket of a client address, in this process, and returns the
 * seconds to wait if there are too many, else null.
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

  /** Returns null if the address may be that of our own proxy, which all clients share. */
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
    return addressBuckets(address, { points, duration: HANDSHAKE_WINDOW_MS / 1_000 })
  }

  function countHandshake(address: string): number | null {
    const now = performance.now()
    if (now - windowStart >= HANDSHAKE_WINDOW_MS) {
      windowStart = now
      handshakes.clear()
    }
    // `some` stops at the first: a /64 that is over its limit doesn't use up that of the /48.
    const isOver =
      bucketsOf(address, maxHandshakesPerAddress).some(
        ({ name, limit }) => countUp(handshakes, name) > limit.points,
      ) ||
      bucketsOf(address, maxSocketsPerAddress).some(
        ({ name, limit }) => (sockets.get(name) ?? 0) >= limit.points,
      )
    return isOver ? Math.ceil((windowStart + HANDSHAKE_WINDOW_MS - now) / 1_000) : null
  }

  return (request) => {
    const address = addressOf(request)
    if (address === null) return null
    const retryAfterSeconds = countHandshake(address)
    if (retryAfterSeconds !== null) return retryAfterSeconds
    // A socket that closed while the app handled the upgrade no longer emits `close`.
    if (request.socket.destroyed) return null
    const names = bucketsOf(address, maxSocketsPerAddress).map(({ name }) => name)
    for (const name of names) countUp(sockets, name)
    request.socket.once('close', () => {
      for (const name of names) countDown(sockets, name)
    })
    return null
  }
}
