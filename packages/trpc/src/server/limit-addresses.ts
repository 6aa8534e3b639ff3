import type { IncomingMessage } from 'node:http'
import type { AuthConfig } from '@sallyport/core'
import {
  addressBuckets,
  clientAddress,
  isPrivateAddress,
  proxyTrustOf,
} from '@sallyport/core/internal/server'
import { headerReader } from './request-headers.ts'
import type { SocketLimits } from './socket-limits.ts'

const HANDSHAKE_WINDOW_MS = 10_000

export type Upgrade = Pick<IncomingMessage, 'headers' | 'url' | 'socket'>

/**
 * Returns a function that adds a handshake and a socket to those of a client address in this process. It
 * returns the seconds to wait if there are too many, else null.
 */
export function limitAddresses(
  config: AuthConfig,
  { maxSocketsPerAddress, maxHandshakesPerAddress }: SocketLimits,
): (request: Upgrade) => number | null {
  const trustsProxy = proxyTrustOf(config)
  const sockets = new Map<string, number>()
  const handshakes = new Map<string, number>()
  let windowStart = Number.NEGATIVE_INFINITY
  let hasWarned = false

  /** Returns null if the address may be that of a proxy, which all clients share. */
  function addressOf({ headers, socket }: Upgrade): string | null {
    const { remoteAddress = null } = socket
    const address = clientAddress(remoteAddress, headerReader(headers)('x-forwarded-for'), trustsProxy)
    if (address !== null && (!isPrivateAddress(address) || trustsProxy(address, 0))) return address
    if (!hasWarned)
      console.warn(
        `webSocketOptions: connections from ${address ?? 'an unknown address'} have no limits per address. ` +
          'If that is your proxy, add it to trustedProxies, and let it pass on X-Forwarded-For.',
      )
    hasWarned = true
    return null
  }

  const bucketsOf = (address: string, points: number) =>
    addressBuckets(address, { points, duration: HANDSHAKE_WINDOW_MS / 1_000 })

  return (request) => {
    const address = addressOf(request)
    if (address === null) return null
    const now = performance.now()
    if (now - windowStart >= HANDSHAKE_WINDOW_MS) {
      windowStart = now
      handshakes.clear()
    }
    const socketBuckets = bucketsOf(address, maxSocketsPerAddress)
    // `some` stops at the first: a /64 that is over its limit doesn't use up that of the /48.
    const isOver =
      bucketsOf(address, maxHandshakesPerAddress).some(
        ({ name, limit }) => increment(handshakes, name) > limit.points,
      ) || socketBuckets.some(({ name, limit }) => (sockets.get(name) ?? 0) >= limit.points)
    if (isOver) return Math.ceil((windowStart + HANDSHAKE_WINDOW_MS - now) / 1_000)
    // A socket that closed while the app handled the upgrade no longer emits `close`.
    if (!request.socket.destroyed)
      for (const { name } of socketBuckets) {
        increment(sockets, name)
        request.socket.once('close', () => decrement(sockets, name))
      }
    return null
  }
}

/** Subtracts one from a total. A name whose total is zero takes no memory. */
export function decrement(totals: Map<string, number>, name: string): void {
  const left = (totals.get(name) ?? 0) - 1
  if (left > 0) totals.set(name, left)
  else totals.delete(name)
}

export function increment(totals: Map<string, number>, name: string): number {
  const count = (totals.get(name) ?? 0) + 1
  totals.set(name, count)
  return count
}
