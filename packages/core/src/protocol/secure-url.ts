/** Whether a host name as `URL` writes it is this machine: `localhost`, `127.0.0.0/8`, or `[::1]`. */
function isLoopbackHost(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

/**
 * Whether the network can neither read nor change what is sent to a URL: it is https, or http on this
 * machine.
 */
export function isSecureUrl(url: URL | null): boolean {
  if (url === null) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))
}
