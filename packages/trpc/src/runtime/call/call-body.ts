import type { FunctionType } from '../runner/runner.ts'
import { CallRejection } from './call-rejection.ts'
import { isObject } from './take-result.ts'

export interface CallBody {
  readonly type: FunctionType
  readonly path: string
  readonly input?: unknown
}

/** @throws TypeError if the input can't be JSON; CallRejection `PAYLOAD_TOO_LARGE` */
export function encodeBody({ type, path, input }: CallBody, maxBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(JSON.stringify({ type, path, input }))
  if (bytes.byteLength > maxBytes) throw new CallRejection('PAYLOAD_TOO_LARGE')
  return bytes
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @throws CallRejection `CALL_INVALID` */
export function decodeBody(bytes: Uint8Array): CallBody {
  try {
    const body: unknown = JSON.parse(utf8.decode(bytes))
    if (isCallBody(body)) return body
  } catch (cause) {
    throw new CallRejection('CALL_INVALID', { cause })
  }
  throw new CallRejection('CALL_INVALID')
}

function isCallBody(body: unknown): body is CallBody {
  return (
    isObject(body) && (body.type === 'query' || body.type === 'mutation') && typeof body.path === 'string'
  )
}
