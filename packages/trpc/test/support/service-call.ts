import { createPrivateKey, sign } from 'node:crypto'
import type { Identity } from '@sallyport/core'
import { parseSigningKeys, type SigningKey } from '@sallyport/core/auth'
import { digestBody, issueServiceToken, serviceAudience } from '@sallyport/core/internal/server'
import type { InternalScene } from './internal-scene.ts'

/** A call that is sent to a listener. */
export interface SentCall {
  readonly type: 'query' | 'mutation'
  readonly path: string
  readonly input?: unknown
}

/** Differences between the token and the call. */
export interface TokenChanges {
  readonly type?: 'query' | 'mutation'
  readonly path?: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly actor?: Identity | null
  readonly idempotencyKey?: string | null
  readonly audience?: string
  readonly key?: SigningKey
  readonly service?: string
  /** Seconds by which the service's clock is ahead. */
  readonly ahead?: number
}

/** Returns a call's body, as a runner sends it. */
export function bodyOf(call: SentCall): string {
  return JSON.stringify(call)
}

/** Creates a service JWT for a call. */
export async function tokenFor(
  { auth, signingKeys }: Pick<InternalScene, 'auth' | 'signingKeys'>,
  call: SentCall,
  changes: TokenChanges = {},
): Promise<string> {
  const { config, clock } = auth
  const { type = call.type, path = call.path, actor = null, idempotencyKey = null, ahead = 0 } = changes
  const { body = bodyOf(call) } = changes
  return issueServiceToken(
    { type, path, actor, idempotencyKey },
    {
      key: changes.key ?? parseSigningKeys(signingKeys).active,
      service: changes.service ?? 'edge',
      audience: changes.audience ?? serviceAudience(config),
      bodyDigest: await digestBody(typeof body === 'string' ? new TextEncoder().encode(body) : body),
      now: new Date(clock.now().getTime() + ahead * 1000),
    },
  )
}

/** Creates the request of a call. */
export function requestFor(
  call: SentCall,
  token: string | null,
  {
    body = bodyOf(call),
    headers = {},
  }: { body?: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> } = {},
): Request {
  return new Request('http://localhost/internal', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body,
  })
}

/** Returns tRPC's envelope of an error, as the listener sends it. By default it is a function's error. */
export function errorEnvelope(
  data: object,
  members: object = {},
): { readonly id: string; readonly error: object } {
  const none = { auth: null, endpoint: null, configuration: null, rejection: null }
  return {
    id: 'sallyport.internal',
    error: { code: -32603, message: '', ...members, data: { ...none, ...data } },
  }
}

/** Signs a token again with other members. */
export function resign(
  token: string,
  jwk: object,
  { header = {}, claims = {} }: { header?: object; claims?: object },
): string {
  const [headerSegment = '', payloadSegment = ''] = token.split('.')
  const change = (segment: string, changes: object) => {
    const members = JSON.parse(Buffer.from(segment, 'base64url').toString())
    return Buffer.from(JSON.stringify({ ...members, ...changes })).toString('base64url')
  }
  const input = `${change(headerSegment, header)}.${change(payloadSegment, claims)}`
  const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
}
