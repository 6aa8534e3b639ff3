import { reject } from '../protocol/endpoint-error.ts'
import { BodyTooLargeError, readLimited } from '../protocol/read-limited.ts'
import { MAX_PAYLOAD_BYTES } from '../protocol.ts'

/** Reads the query of a GET, otherwise the JSON body, or an empty object. @throws EndpointError */
export async function readInput(request: Request): Promise<unknown> {
  if (request.method === 'GET') return readQuery(new URL(request.url).searchParams)
  const text = await readText(request)
  if (text === '') return {}
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') throw reject('UNSUPPORTED_MEDIA_TYPE')
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw reject('INVALID_INPUT', { cause })
  }
}

function readQuery(query: URLSearchParams): Record<string, string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of query.keys()) (seen.has(name) ? repeated : seen).add(name)
  // Choosing one of two values would be a guess.
  if (repeated.size > 0) throw reject('INVALID_INPUT', { fields: [...repeated] })
  return Object.fromEntries(query)
}

async function readText(request: Request): Promise<string> {
  try {
    return await readLimited(request.body, MAX_PAYLOAD_BYTES)
  } catch (cause) {
    // Any other failure is the client's too: the body broke off.
    throw reject(cause instanceof BodyTooLargeError ? 'PAYLOAD_TOO_LARGE' : 'INVALID_INPUT', { cause })
  }
}
