import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { HostileKey } from '../../../core/test/hostile/hostile-key.ts'
import type { Random } from '../../../core/test/hostile/random.ts'
import type { Named } from '../../../core/test/support/insert-rows.ts'
import { ORIGIN } from '../support/visitor.ts'
import type { ServiceNode } from './open-nodes.ts'

/** The parts of a call, each of which a test can replace. */
export interface Call {
  /** Part of the input, and recorded when the function runs. */
  readonly id: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly key: HostileKey
  /** Derived from the other parts by default. */
  readonly token?: string
}

/** The functions, and inputs that make them record an id. */
const FUNCTIONS = [
  { path: 'note.list', type: 'query', inputFor: (id: string) => ({ id }) },
  { path: 'note.save', type: 'mutation', inputFor: (id: string) => ({ id }) },
  { path: 'note.remove', type: 'mutation', inputFor: (id: string) => ({ id }) },
  { path: 'sallyport.findSession', type: 'query', inputFor: (id: string) => ({ sessionId: id, userId: id }) },
  {
    path: 'sallyport.consumeLimit',
    type: 'mutation',
    inputFor: (id: string) => ({ key: `procedure:${id}`, limit: { points: 1, duration: 1 } }),
  },
  ...(['query', 'mutation'] as const).map((type) => ({
    path: type === 'query' ? ('sallyport.queryEndpoint' as const) : ('sallyport.mutateEndpoint' as const),
    type,
    inputFor: (id: string) => ({
      name: 'probe',
      input: { id },
      request: { method: 'GET', headers: {}, remoteAddress: null },
    }),
  })),
] as const
export type Path = (typeof FUNCTIONS)[number]['path']

/** The app's own functions. */
export const OWN: readonly Path[] = ['note.list', 'note.save', 'note.remove']
export const MUTATIONS: readonly Path[] = ['note.save', 'note.remove']

/** The options of a call. */
export interface CallOptions {
  readonly now: number
  readonly key: HostileKey
  readonly paths?: readonly Path[]
  readonly type?: 'query' | 'mutation'
  /** With the key of the user's JWT, and that JWT's expiry. */
  readonly actor?: Named & { readonly kid: string }
  readonly idempotencyKey?: string
}

/** Creates a valid call from the contract of service JWTs, without the library. */
export function createCall(random: Random, options: CallOptions): Call {
  const { now, key, actor, idempotencyKey, paths, type } = options
  const id = random.bytes(12).toString('hex')
  const choices = FUNCTIONS.filter(
    (entry) => (paths?.includes(entry.path) ?? true) && (type === undefined || entry.type === type),
  )
  const chosen = random.pick(choices)
  const body = bodyOf({ type: chosen.type, path: chosen.path, input: chosen.inputFor(id) })
  const iat = Math.floor(now / 1000)
  const act = actor && {
    sub: actor.userId,
    sessionId: actor.sessionId,
    version: 1,
    iss: ORIGIN,
    kid: actor.kid,
    exp: iat + 600,
  }
  return {
    id,
    method: 'POST',
    headers: {},
    body,
    key,
    header: { alg: key.alg, typ: 'svc+jwt', kid: key.kid },
    claims: {
      iss: 'edge',
      aud: `${ORIGIN}/internal`,
      iat,
      exp: iat + 30,
      jti: random.bytes(16).toString('hex'),
      fn: chosen.path,
      op: chosen.type,
      body: digest(body),
      ...(act && { act }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    },
  }
}

export const bodyOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

export const digest = (body: Buffer): string => createHash('sha256').update(body).digest('base64url')

/** Signs a call's token without the library. */
export const sealed = ({ key, header, claims, token }: Call): string => token ?? key.seal(header, claims)

/** The result of a call. */
export interface CallAnswer {
  readonly status: number
  /** Why the call was rejected, or the reason of the acting user's rejection. Null if it ran. */
  readonly code: string | null
}

/** Sends a call to a node's handler, directly or over HTTP. */
export async function send(node: ServiceNode, call: Call, { overHttp = false } = {}): Promise<CallAnswer> {
  const headers = {
    authorization: `Bearer ${sealed(call)}`,
    'content-type': 'application/json',
    ...call.headers,
  }
  if (overHttp) return sendOverHttp(node, call, headers)
  const { method } = call
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const request = new Request(node.url, {
    method,
    headers,
    ...(hasBody && { body: new Uint8Array(call.body) }),
  })
  const response = await node.handle(request)
  return answerOf(response.status, await response.text())
}

function sendOverHttp(
  { url }: ServiceNode,
  { method, body }: Call,
  headers: Record<string, string>,
): Promise<CallAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers: { ...headers, 'content-length': body.byteLength } },
      (response) => {
        text(response).then((json) => resolve(answerOf(response.statusCode ?? 0, json)), reject)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

function answerOf(status: number, json: string): CallAnswer {
  const { result, error } = JSON.parse(json)
  if (result !== undefined) return { status, code: null }
  const { rejection, auth, configuration, code } = error.data
  return { status, code: rejection ?? auth?.reason ?? (configuration === null ? code : 'configuration') }
}
