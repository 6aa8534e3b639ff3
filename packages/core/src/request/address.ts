import proxyAddr from '@fastify/proxy-addr'
import ipaddr from 'ipaddr.js'
import type { AuthConfig } from '../config.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import type { RateLimit } from '../rate-limit/rate-limit.ts'

/** Returns whether an address is a trusted proxy, whose `X-Forwarded-For` is read. */
export type ProxyTrust = (address: string, hop: number) => boolean

/** Parses the setting `trustedProxies`. @throws ConfigurationError naming the invalid entry */
export function trustProxies(proxies: readonly string[]): ProxyTrust {
  try {
    return proxyAddr.compile([...proxies])
  } catch (cause) {
    throw new ConfigurationError(
      `trustedProxies: ${cause instanceof Error ? cause.message : cause}. Write addresses, ranges such as 10.0.0.0/8, loopback, linklocal, or uniquelocal.`,
      { cause },
    )
  }
}

/** Parses the setting of a configuration; if its options are read later, at the first address. */
export function proxyTrustOf(config: AuthConfig): ProxyTrust {
  const isRead = Object.getOwnPropertyDescriptor(config, 'trustedProxies')?.get === undefined
  let trusts = isRead ? trustProxies(config.trustedProxies) : undefined
  return (address, hop) => {
    trusts ??= trustProxies(config.trustedProxies)
    return trusts(address, hop)
  }
}

/**
 * Returns the address of the connection, or, if that is a trusted proxy, the last one in `X-Forwarded-For`
 * that isn't. Null if it is missing or invalid.
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

/** Some proxies add the port: `192.0.2.1:5678` and `[2001:db8::1]:5678`. */
function withoutPorts(forwardedFor: string): string {
  const hops = forwardedFor.split(',').map((hop) => hop.trim().replace(PORT, '$1$2'))
  return hops.join(', ')
}

const PORT = /^\[([^\]]*)\](?::\d{1,5})?$|^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/

/** Returns the client for rate limits: an IPv4 address, or an IPv6 /64, which is one household. */
export function clientNetwork(address: string | null): string {
  if (address === null) return 'unknown'
  const parsed = withoutTunnel(ipaddr.process(address))
  return parsed instanceof ipaddr.IPv4 ? parsed.toString() : rangeOf(parsed, 64)
}

/** How many times the limit of a client applies to its /48. */
const SITE_FACTOR = 10

/** Returns the keys of a limit by address: the client, and for IPv6 the /48, which can be one customer's. */
export function addressBuckets(
  address: string | null,
  limit: RateLimit,
): { name: string; limit: RateLimit }[] {
  const client = { name: clientNetwork(address), limit }
  const parsed = address === null ? null : withoutTunnel(ipaddr.process(address))
  if (!(parsed instanceof ipaddr.IPv6)) return [client]
  const site = { points: limit.points * SITE_FACTOR, duration: limit.duration }
  return [client, { name: rangeOf(parsed, 48), limit: site }]
}

function rangeOf(address: ipaddr.IPv6, bits: number): string {
  const plain = new ipaddr.IPv6(address.parts)
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${plain}/${bits}`)}/${bits}`
}

/**
 * Returns the IPv4 address in a 6to4 address (2002::/16) or a NAT64 address (64:ff9b::/96 and
 * 64:ff9b:1::/48). Its owner could otherwise choose among many networks.
 */
function withoutTunnel(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address instanceof ipaddr.IPv4) return address
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = address.parts
  if (a === 0x2002) return toIpv4(b, c)
  if (a !== 0x64 || b !== 0xff9b) return address
  const isWellKnown = c === 0 && d === 0 && e === 0 && f === 0
  if (!isWellKnown && c !== 1) return address
  // With a prefix of 96 bits, the address is at the end. With 48 bits, it's around bits 64 to 71.
  const isAtEnd = isWellKnown || g !== 0 || h !== 0
  return isAtEnd ? toIpv4(g, h) : toIpv4(d, ((e & 0xff) << 8) | (f >> 8))
}

function toIpv4(high: number, low: number): ipaddr.IPv4 {
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])
}

/** Returns whether an address belongs to a machine or a local network, so it could be a proxy. */
export function isPrivateAddress(address: string): boolean {
  const range = ipaddr.process(address).range()
  return /^(loopback|private|uniqueLocal|linkLocal|carrierGradeNat|unspecified)$/.test(range)
}
