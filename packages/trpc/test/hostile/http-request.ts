import { connect } from 'node:net'
import type { Random } from '../../../core/test/hostile/random.ts'

/** A request's target and bytes. */
export interface RawRequest {
  readonly adapter: 'node' | 'fetch'
  readonly bytes: Buffer
}

/** Creates a request that carries a token in an expected or an unexpected place. */
export function createRequest(token: string, random: Random): RawRequest {
  const adapter = random.pick(['node', 'fetch'] as const)
  const way = random.chance(0.9) ? random.pick(WAYS) : random.pick(ABUSES)
  const { target, headers, body = '' } = way(token, adapter)
  const head = [
    `${target} HTTP/1.1`,
    'host: localhost:3000',
    'connection: close',
    'x-sallyport: 1',
    ...(body === '' ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
    ...headers,
  ]
  return { adapter, bytes: toBytes(`${head.join('\r\n')}\r\n\r\n${body}`) }
}

interface Way {
  readonly target: string
  readonly headers: readonly string[]
  readonly body?: string
}

const prefix = (adapter: string) => (adapter === 'fetch' ? '/trpc' : '')
const cookie = (token: string) => [`cookie: service.jwt=${token}`]
const bearer = (token: string) => [`authorization: Bearer ${token}`]
const BATCH = '{"0":null,"1":null}'

/** Creates a call of an auth endpoint, which only the fetch adapter serves. */
function besideTrpc(token: string, adapter: string): Way {
  return adapter === 'node'
    ? { target: 'POST /write', headers: cookie(token), body: 'null' }
    : {
        target: 'POST /api/auth/admin/revoke-user-session',
        headers: cookie(token),
        body: '{"sessionId":"s"}',
      }
}

const WAYS: readonly ((token: string, adapter: string) => Way)[] = [
  (token, adapter) => ({ target: `GET ${prefix(adapter)}/read`, headers: cookie(token) }),
  (token, adapter) => ({ target: `GET ${prefix(adapter)}/read`, headers: bearer(token) }),
  (token, adapter) => ({
    target: `GET ${prefix(adapter)}/read`,
    headers: [`cookie: a=b; service.jwt=${token}; c=d`],
  }),
  (token, adapter) => ({
    target: `GET ${prefix(adapter)}/read,read?batch=1&input={}`,
    headers: cookie(token),
  }),
  (token, adapter) => ({ target: `POST ${prefix(adapter)}/write`, headers: cookie(token), body: 'null' }),
  (token, adapter) => ({ target: `POST ${prefix(adapter)}/write`, headers: bearer(token), body: 'null' }),
  (token, adapter) => ({
    target: `POST ${prefix(adapter)}/write,write?batch=1`,
    headers: cookie(token),
    body: BATCH,
  }),
  besideTrpc,
]

/** Requests with more faults than the token. */
const ABUSES: readonly ((token: string, adapter: string) => Way)[] = [
  (token, adapter) => ({
    target: `GET ${prefix(adapter)}/read`,
    headers: [...cookie(token), ...cookie(token)],
  }),
  (token, adapter) => ({
    target: `GET ${prefix(adapter)}/read`,
    headers: [...bearer(token), ...bearer(token)],
  }),
  (token, adapter) => ({
    target: `GET ${prefix(adapter)}/read`,
    headers: [...cookie(token), 'cookie: service.session=x.y'],
  }),
  (token, adapter) => ({ target: `GET ${prefix(adapter)}/read`, headers: cookie(token.padEnd(17_000, 'A')) }),
  (token, adapter) => ({ target: `GET ${prefix(adapter)}/read`, headers: bearer(token.padEnd(17_000, 'A')) }),
  (token, adapter) => ({ target: `POST ${prefix(adapter)}/write`, headers: cookie(token), body: '{"a":' }),
  (token, adapter) => ({ ...besideTrpc(token, adapter), body: JSON.stringify('x'.repeat(66_000)) }),
  (token, adapter) => ({
    target: `GET ${prefix(adapter)}/${Array(21).fill('read').join()}?batch=1`,
    headers: cookie(token),
  }),
  (token, adapter) => ({
    target: `GET ${prefix(adapter)}/read?input=${'['.repeat(4_000)}`,
    headers: cookie(token),
  }),
]

/** Encodes bytes as an attacker may send them, even if they aren't valid HTTP. */
function toBytes(text: string): Buffer {
  const isLatin1 = [...text].every((character) => (character.codePointAt(0) ?? 0) <= 0xff)
  return Buffer.from(text, isLatin1 ? 'latin1' : 'utf8')
}

/**
 * Sends a request. Resolves to the statuses: several if a line break in the token made two requests of one,
 * none if the connection was closed without a response.
 */
export function send(port: number, bytes: Uint8Array): Promise<number[]> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    // The server may close before it has read everything. Its response has already arrived then.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      resolve([...answer.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status)))
    })
    socket.write(bytes)
  })
}
