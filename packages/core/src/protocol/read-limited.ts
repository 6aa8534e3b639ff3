export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError'
}

/** A body of `fetch`. Some types and runtimes can't iterate a stream. */
export type ByteStream = AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>

/** Reads the text of a body. @throws BodyTooLargeError */
export async function readLimited(body: ByteStream | null, maxBytes: number): Promise<string> {
  return new TextDecoder().decode(await readBytes(body, maxBytes))
}

/** Reads a body, whose `content-length` can be absent or wrong. @throws BodyTooLargeError */
export async function readBytes(body: ByteStream | null, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body === null ? [] : iterate(body)) {
    length += chunk.byteLength
    if (length > maxBytes) throw new BodyTooLargeError(`The body has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

async function* iterate(body: ByteStream): AsyncGenerator<Uint8Array, void> {
  if (!('getReader' in body)) return yield* body
  const reader = body.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
  } finally {
    // The body may be too large to read to its end. Not awaited: that would also wait for a clone of it.
    reader.cancel().catch(() => {})
  }
}
