import type { HeaderReader } from '@sallyport/core'

/** Headers of a Node request, with lower-case names. */
export type NodeHeaders = Readonly<Record<string, string | string[] | undefined>>

/** Reads headers of either kind. One that was sent several times counts as its values in a row, which equals none of them. */
export function headerReader(headers: Headers | NodeHeaders): HeaderReader {
  if (headers instanceof Headers) return (name) => headers.get(name)
  return (name) => {
    const value = headers[name]
    return (Array.isArray(value) ? value.join(', ') : value) ?? null
  }
}
