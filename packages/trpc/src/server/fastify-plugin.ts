import type { IncomingMessage, ServerResponse } from 'node:http'

/** The part of a Fastify instance that the plugin of {@link createHandler} uses. */
export interface FastifyRoutes {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(type: string, parser: (request: unknown, body: unknown, done: Done) => void): unknown
  all(path: string, respond: (request: Raw<IncomingMessage>, reply: Raw<ServerResponse>) => unknown): unknown
}

type Done = (error: null) => void

interface Raw<Message> {
  readonly raw: Message
}

type Respond = (
  request: Request,
  connection: { readonly remoteAddress?: string | undefined },
) => Promise<Response>

/** Adds routes to an instance of Fastify, in which it doesn't read bodies. */
export function addRoutes(routes: FastifyRoutes, paths: readonly string[], respond: Respond): void {
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', (_request, _body, done) => done(null))
  for (const path of paths)
    routes.all(path, ({ raw }, reply) => {
      const request = toRequest(raw, reply.raw)
      return request === null ? new Response('Bad Request', { status: 400 }) : respond(request, raw.socket)
    })
}

/**
 * Returns null if the method, the `Host`, or the path is invalid for `fetch`, or if the path of the URL isn't
 * the one that Fastify has routed, as with `..` or an empty `Host`.
 */
function toRequest(message: IncomingMessage, response: ServerResponse): Request | null {
  const { method = 'GET', rawHeaders, headers: known, url: path = '/' } = message
  const { host = 'localhost' } = known
  const url = URL.parse(`http://${host}${path}`)
  if (url === null || url.pathname !== path.split('?', 1)[0]) return null
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2)
    // Those of HTTP/2.
    if (!name.startsWith(':')) headers.append(name, value)
  }
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  const body = ['GET', 'HEAD'].includes(method) ? null : bodyOf(message, response)
  // Streams require `duplex`, which the DOM types lack.
  const init = { method, headers, signal: gone.signal, body, duplex: 'half' }
  try {
    return new Request(url, init)
  } catch {
    // A host with a password, or the method TRACE.
    return null
  }
}

/** How long the rest of a body is read after the response. */
const DISCARD_MS = 1_000

function bodyOf(message: IncomingMessage, response: ServerResponse): ReadableStream<Uint8Array> {
  // A body that is too large must not end the connection before the response.
  const chunks: AsyncIterator<Uint8Array> = message.iterator({ destroyOnReturn: false })
  // Node discards the rest only if no one began to read. The next request of the connection waits behind it.
  response.once('close', async () => {
    if (!message.complete) {
      // A client may never end it, and Fastify has no timeout for requests by default.
      const timer = setTimeout(() => message.destroy(), DISCARD_MS).unref()
      message.once('close', () => clearTimeout(timer))
    }
    // Waits while a chunk is being read.
    await chunks.return?.()
    message.resume()
  })
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}
