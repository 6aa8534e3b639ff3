import { reject } from '../protocol/endpoint-error.ts'
import { BodyTooLargeError, readLimited } from '../protocol/read-limited.ts'
import { MAX_PAYLOAD_BYTES } from '../protocol.ts'

/**
 * The JSON body of a request; an empty object when there is none.
 *
 * @throws EndpointError `PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE` or `INVALID_INPUT`
 */
export async function readBody(request: Request): Promise<unknown> {
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

async function readText(request: Request): Promise<string> {
  try {
    return await readLimited(request.body, MAX_PAYLOAD_BYTES)
  } catch (cause) {
    // Any other failure is the sender's too: the body broke off.
    throw reject(cause instanceof BodyTooLargeError ? 'PAYLOAD_TOO_LARGE' : 'INVALID_INPUT', {
      cause,
    })
  }
}
