import proxyAddr from '@fastify/proxy-addr'
import ipaddr from 'ipaddr.js'
import { ConfigurationError } from './errors.ts'

/** Whether an address is one of our own proxies, whose `X-Forwarded-For` is believed. */
export type ProxyTrust = (address: string, hop: number) => boolean

/**
 * Reads the setting `trustedProxies`.
 *
 * @throws ConfigurationError naming what is no address
 */
export function trustProxies(proxies: readonly string[]): ProxyTrust {
  try {
    return proxyAddr.compile([...proxies])
  } catch (cause) {
    throw new ConfigurationError(
      `trustedProxies: write addresses, ranges such as 10.0.0.0/8, or loopback, linklocal and uniquelocal (${cause instanceof Error ? cause.message : cause})`,
    )
  }
}

/**
 * The address of whoever sent a request: that of the connection, unless it is a trusted proxy's; then the last one in `X-Forwarded-For`
 * that is not. Null where there is none, or where it is no address.
 *
 * @param forwardedFor the header `X-Forwarded-For`
 */
export function clientAddress(
  remoteAddress: string | null,
  forwardedFor: string | null,
  trustsProxy: ProxyTrust,
): string | null {
  if (remoteAddress === null) return null
  const isForwarded = forwardedFor !== null && trustsProxy(remoteAddress, 0)
  const headers = isForwarded ? { 'x-forwarded-for': withoutPorts(forwardedFor) } : {}
  const socket = { remoteAddress }
  const address = proxyAddr({ socket, headers } as Parameters<typeof proxyAddr>[0], trustsProxy)
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : null
}

/** Some proxies write down the port as well: `192.0.2.1:5678` and `[2001:db8::1]:5678`. */
function withoutPorts(forwardedFor: string): string {
  return forwardedFor
    .split(',')
    .map((hop) => hop.trim().replace(PORT, '$1$2'))
    .join(', ')
}

const PORT = /^\[([^\]]*)\](?::\d{1,5})?$|^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/

/**
 * What counts as one client for a rate limit: an IPv4 address, or the /64 of an IPv6 address, which one household has for itself. All
 * that have no address are one.
 */
export function clientNetwork(address: string | null): string {
  if (address === null) return 'unknown'
  const parsed = ipaddr.parse(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`)}/64`
}
