import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'

/** A server that speaks the range protocol of Have I Been Pwned, with padding. */
export interface RangeServer {
  /** For `breachedPasswords({ url })`. */
  readonly url: string
  /** The requests so far. */
  readonly requests: { readonly path: string; readonly padding: string | undefined }[]
}

/** Has no time limit: a busy machine may reach that of a check. */
export const patientFetch: typeof fetch = (url, init) => fetch(url, { ...init, signal: null })

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()

/**
 * @param breached how often each password was seen; 0 is a line of padding
 * @param respond replaces the protocol
 */
export async function startRangeServer(
  breached: Readonly<Record<string, number>>,
  respond?: (response: ServerResponse) => void,
): Promise<RangeServer> {
  const requests: { path: string; padding: string | undefined }[] = []
  const hashes = Object.entries(breached).map(([password, count]) => [sha1(password), count] as const)

  function answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    requests.push({ path: url, padding: headers['add-padding']?.toString() })
    if (respond !== undefined) {
      respond(response)
      return
    }
    const prefix = /^\/range\/([0-9A-F]{5})$/.exec(url)?.[1]
    if (prefix === undefined) {
      response.writeHead(400).end('The hash prefix was not in a valid format')
      return
    }
    const found = hashes.filter(([hash]) => hash.startsWith(prefix))
    const lines = found.map(([hash, count]) => `${hash.slice(5)}:${count}`)
    const padding = Array.from({ length: 800 }, (_, i) => `${sha1(`padding ${i}`).slice(5)}:0`)
    response.end([...padding, ...lines].sort().join('\r\n'))
  }

  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new TypeError('No port')
  return { url: `http://127.0.0.1:${address.port}/range/`, requests }
}
