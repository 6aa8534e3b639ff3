import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { RequestOptions } from '@sallyport/core/auth'
import { afterAll } from 'vitest'

/** Serves a handler on a free port until the tests of the file are over. Returns where. */
export async function serve(
  handle: (request: Request, options: RequestOptions) => Promise<Response>,
): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/', headers, socket } = incoming
    const body = await text(incoming)
    const request = new Request(`http://${headers.host}${url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(body !== '' && { body }),
    })
    const response = await handle(request, { remoteAddress: socket.remoteAddress })
    outgoing.writeHead(response.status, [...response.headers].flat())
    outgoing.end(await response.text())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('It listens on no port')
  return `http://127.0.0.1:${address.port}`
}
