import { MAX_PAYLOAD_BYTES } from '../protocol.ts'
import { EndpointError } from './endpoint-error.ts'

/**
 * The JSON body of a request; undefined when there is none.
 *
 * @throws EndpointError `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `INVALID_INPUT`
 */
export async function readBody(request: Request): Promise<unknown> {
  const text = await readText(request)
  if (text === '') return undefined
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') throw new EndpointError('UNSUPPORTED_MEDIA_TYPE')
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EndpointError('INVALID_INPUT', { cause })
  }
}

/** Counts while reading, because `content-length` may be absent or wrong. */
async function readText(request: Request): Promise<string> {
  if (request.body === null) return ''
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  for await (const chunk of request.body) {
    bytes += chunk.byteLength
    if (bytes > MAX_PAYLOAD_BYTES) throw new EndpointError('PAYLOAD_TOO_LARGE')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
