import type { FunctionType } from '../runner/runner.ts'
import { CallRefusal } from './call-refusal.ts'

/** What stands in the body of a call. */
export interface CallBody {
  readonly type: FunctionType
  readonly path: string
  readonly input?: unknown
}

/**
 * The bytes of a call.
 *
 * @throws TypeError where the input is nothing that JSON can say; CallRefusal `PAYLOAD_TOO_LARGE`
 */
export function encodeBody({ type, path, input }: CallBody, maxBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(JSON.stringify({ type, path, input }))
  if (bytes.byteLength > maxBytes) throw new CallRefusal('PAYLOAD_TOO_LARGE')
  return bytes
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @throws CallRefusal `CALL_INVALID` */
export function decodeBody(bytes: Uint8Array): CallBody {
  try {
    const body: unknown = JSON.parse(utf8.decode(bytes))
    if (isCallBody(body)) return body
  } catch (cause) {
    throw new CallRefusal('CALL_INVALID', { cause })
  }
  throw new CallRefusal('CALL_INVALID')
}

function isCallBody(body: unknown): body is CallBody {
  return (
    typeof body === 'object' &&
    body !== null &&
    'type' in body &&
    (body.type === 'query' || body.type === 'mutation') &&
    'path' in body &&
    typeof body.path === 'string'
  )
}
