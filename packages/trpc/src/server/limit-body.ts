import { MAX_PAYLOAD_BYTES } from '@sallyport/core'
import { TRPCError } from '@trpc/server'

/**
 * Returns the request with a body that fails with 413 `PAYLOAD_TOO_LARGE` after `maxBytes`. tRPC's fetch
 * adapter would read a body of any size into memory.
 *
 * @example fetchRequestHandler({ endpoint: '/trpc', req: limitBody(request), router, createContext })
 */
export function limitBody(request: Request, maxBytes: number = MAX_PAYLOAD_BYTES): Request {
  const { url, method, headers, signal, body } = request
  if (body === null) return request
  let size = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength
      if (size > maxBytes) throw new TRPCError({ code: 'PAYLOAD_TOO_LARGE' })
      controller.enqueue(chunk)
    },
  })
  // Streams require `duplex`, which the DOM types lack.
  const init = { method, headers, signal, body: body.pipeThrough(counter), duplex: 'half' }
  // From the URL, because Next.js passes a proxy, which `Request` can't copy.
  return new Request(url, init)
}
