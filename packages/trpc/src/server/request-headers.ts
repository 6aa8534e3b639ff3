import { type AuthConfig, checkOrigin, type HeaderReader } from '@sallyport/core'

/** Headers of a Node request, with lower-case names. */
export type NodeHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Returns a reader of headers of either kind. Joins a repeated header, so it can't equal a single value. */
export function headerReader(headers: Headers | NodeHeaders): HeaderReader {
  if (isHeaders(headers)) return (name) => headers.get(name)
  return (name) => {
    const value = headers[name]
    return (Array.isArray(value) ? value.join(', ') : value) ?? null
  }
}

/** Returns whether these are `Headers`, also those of a polyfill or another realm. */
export function isHeaders(headers: Headers | NodeHeaders): headers is Headers {
  return typeof headers.get === 'function'
}

/** Returns whether a WebSocket upgrade comes from an origin that may use the cookies. */
export function isOwnOrigin(header: HeaderReader, config: AuthConfig): boolean {
  try {
    checkOrigin({ method: 'GET', header }, 'upgrade', config)
    return true
  } catch {
    return false
  }
}
