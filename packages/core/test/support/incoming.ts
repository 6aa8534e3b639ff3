import type { OriginRequest } from '@sallyport/core'

/** Returns a request in the form that the two gates read: a method, and headers by lower-case name. */
export function incoming(headers: Record<string, string>, method = 'GET'): OriginRequest {
  return { method, header: (name) => headers[name] ?? null }
}
