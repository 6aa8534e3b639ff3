import type { OriginRequest } from '@sallyport/core'

/** A request as the two gates see it: a method and headers by their lower-case names. */
export function incoming(headers: Record<string, string>, method = 'GET'): OriginRequest {
  return { method, header: (name) => headers[name] ?? null }
}
