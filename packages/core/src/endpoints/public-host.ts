import ipaddr from 'ipaddr.js'

/**
 * Whether a host, as `URL` writes it, is on the public internet as far as its name tells: neither an
 * address of a private network, nor a name that only such a network resolves.
 */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (ipaddr.isValid(host)) return ipaddr.parse(host).range() === 'unicast'
  return host.includes('.') && !PRIVATE_NAME.test(host)
}

const PRIVATE_NAME =
  /(?:^|\.)(?:corp|home|home\.arpa|internal|intranet|lan|local|localdomain|localhost|private)$/
