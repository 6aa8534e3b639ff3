import { createHmac } from 'node:crypto'
import type { Random } from '../../../core/test/hostile/random.ts'
import { toSegment } from '../../../core/test/support/forge-token.ts'
import { ORIGIN } from '../support/visitor.ts'
import { bodyOf, type Call, digest, sealed } from './call.ts'
import { MAX_BODY_BYTES, type ServiceKeys } from './open-nodes.ts'

/** What a forger has: an unsent valid call, all public keys, and a key that no app trusts. */
export interface Forger {
  readonly random: Random
  readonly keys: ServiceKeys
  /** Another valid call, of another function. */
  readonly other: Call
}

/** A way to create a call that must not run. */
export interface Forgery {
  readonly name: string
  readonly forge: (call: Call, forger: Forger) => Call
  readonly status: number
  readonly code: string
}

/** The required claims of a token. */
const CLAIMS = ['iss', 'aud', 'iat', 'exp', 'jti', 'fn', 'op', 'body']
/** An acting user with all members. */
const ACT = { sub: 'u', sessionId: 's', version: 1, iss: ORIGIN, kid: 'k', exp: 1 }
/** Values of the wrong type or format. */
const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  '',
  [],
  {},
  ['a'],
  'a\u0000b',
  'x'.repeat(201),
  9e15,
  '1',
]

const withClaims = (call: Call, claims: object): Call => ({ ...call, claims: { ...call.claims, ...claims } })
const withHeader = (call: Call, header: object): Call => ({ ...call, header: { ...call.header, ...header } })
const without = (members: Readonly<Record<string, unknown>>, name: string) =>
  Object.fromEntries(Object.entries(members).filter(([key]) => key !== name))
const withBody = (call: Call, body: Buffer): Call => ({
  ...call,
  body,
  claims: { ...call.claims, body: digest(body) },
})
const said = ({ body }: Call) => JSON.parse(body.toString())
const json = (value: object) => JSON.stringify(value)
/** Serializes an object with a duplicate of one of its members. */
const doubled = (members: object, name: string, value: unknown) =>
  `{${JSON.stringify(name)}:${JSON.stringify(value)},${json(members).slice(1)}`

function segmentsOf(call: Call): [string, string, string] {
  const [first = '', second = '', third = ''] = sealed(call).split('.')
  return [first, second, third]
}

function flipped(segment: string, random: Random): string {
  const bytes = Buffer.from(segment, 'base64url')
  const at = random.below(bytes.length)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
  return bytes.toString('base64url')
}

const INVALID = { status: 401, code: 'TOKEN_INVALID' } as const
const MISSING = { status: 401, code: 'TOKEN_MISSING' } as const

/** One forgery for each possible fault. */
export const FORGERIES: readonly Forgery[] = [
  // Time.
  {
    name: 'expired',
    forge: (call, { random }) => shifted(call, -30 - random.pick([0, 0, 1, 60, 86_400])),
    status: 401,
    code: 'TOKEN_EXPIRED',
  },
  {
    name: 'from the future',
    forge: (call, { random }) => shifted(call, 31 + random.below(3_600)),
    ...INVALID,
  },
  {
    name: 'valid for more than 30 seconds',
    forge: (call, { random }) =>
      withClaims(call, { exp: Number(call.claims.iat) + 31 + random.below(100_000) }),
    ...INVALID,
  },
  {
    name: 'expires before it is issued',
    forge: (call, { random }) => withClaims(call, { iat: Number(call.claims.exp) + random.below(2) }),
    ...INVALID,
  },

  // Binding.
  {
    name: 'for another function',
    forge: (call, { other }) => withClaims(call, { fn: other.claims.fn }),
    ...INVALID,
  },
  {
    name: 'sent to another function',
    forge: (call, { other }) => ({ ...call, body: bodyOf({ ...said(call), path: other.claims.fn }) }),
    ...INVALID,
  },
  {
    name: 'for another operation',
    forge: (call) => withClaims(call, { op: call.claims.op === 'query' ? 'mutation' : 'query' }),
    ...INVALID,
  },
  {
    name: 'with another body',
    forge: (call, { other }) => ({ ...call, body: bodyOf({ ...said(call), input: said(other).input }) }),
    ...INVALID,
  },
  {
    name: 'with one bit of the body flipped',
    forge: (call, { random }) => {
      const body = Buffer.from(call.body)
      const at = random.below(body.length)
      body[at] = (body[at] ?? 0) ^ (1 << random.below(8))
      return { ...call, body }
    },
    ...INVALID,
  },
  {
    name: 'with an equivalent body',
    forge: (call, { random }) => ({
      ...call,
      body: Buffer.from(
        random.pick([`${call.body} `, ` ${call.body}`, `\ufeff${call.body}`, json({ ...said(call), a: 1 })]),
      ),
    }),
    ...INVALID,
  },
  { name: 'with no body', forge: (call) => ({ ...call, body: Buffer.alloc(0) }), ...INVALID },
  {
    name: 'for the digest of another body',
    forge: (call, { other }) => withClaims(call, { body: other.claims.body }),
    ...INVALID,
  },
  {
    name: 'for another audience',
    forge: (call, { random }) =>
      withClaims(call, {
        aud: random.pick<unknown>([
          ORIGIN,
          `${ORIGIN}/internal/`,
          `${ORIGIN}/Internal`,
          'https://other.example/internal',
          [`${ORIGIN}/internal`],
          [`${ORIGIN}/internal`, 'https://other.example/internal'],
          '',
        ]),
      }),
    ...INVALID,
  },

  // Signature.
  {
    name: 'by an unknown key with our key id',
    forge: (call, { keys }) => ({ ...call, key: keys.stranger }),
    ...INVALID,
  },
  {
    name: 'by an unknown key with its own id',
    forge: (call, { keys }) => ({ ...withHeader(call, { kid: keys.stranger.kid }), key: keys.stranger }),
    ...INVALID,
  },
  {
    name: 'by a replaced key',
    forge: (call, { keys }) => ({ ...withHeader(call, { kid: keys.retired.kid }), key: keys.retired }),
    ...INVALID,
  },
  {
    name: "by the users' key",
    forge: (call, { keys }) => ({ ...withHeader(call, { kid: keys.users.kid }), key: keys.users }),
    ...INVALID,
  },
  {
    name: 'by our other key',
    forge: (call, { keys }) => ({ ...call, key: call.key === keys.own ? keys.ownElliptic : keys.own }),
    ...INVALID,
  },
  {
    name: 'by our other key, with its id',
    forge: (call, { keys }) => {
      const key = call.key === keys.own ? keys.ownElliptic : keys.own
      return { ...withHeader(call, { alg: key.alg }), key }
    },
    ...INVALID,
  },
  {
    name: 'unsigned',
    forge: (call, { random }) => {
      const alg = random.pick(['none', 'None', call.header.alg])
      const [, second, third] = segmentsOf(call)
      return {
        ...call,
        token: `${toSegment({ ...call.header, alg })}.${second}.${random.pick(['', toSegment('none'), alg === call.header.alg ? '' : third])}`,
      }
    },
    ...INVALID,
  },
  {
    name: 'with our public key as a secret',
    forge: (call) => {
      const [, second] = segmentsOf(call)
      const input = `${toSegment({ ...call.header, alg: 'HS256' })}.${second}`
      const secret = JSON.stringify(call.key.publicJwk)
      return { ...call, token: `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}` }
    },
    ...INVALID,
  },
  {
    name: 'changed after signing',
    forge: (call, { other }) => {
      const [first, , third] = segmentsOf(call)
      return { ...call, token: `${first}.${segmentsOf(other)[1]}.${third}`, body: other.body }
    },
    ...INVALID,
  },
  {
    name: 'with one bit of the token flipped',
    forge: (call, { random }) => {
      const segments = segmentsOf(call)
      const at = random.below(3)
      return {
        ...call,
        token: segments.map((segment, i) => (i === at ? flipped(segment, random) : segment)).join('.'),
      }
    },
    ...INVALID,
  },

  // Kind of token.
  {
    name: 'of another type',
    forge: (call, { random }) =>
      withHeader(call, {
        typ: random.pick<unknown>([
          'at+jwt',
          'JWT',
          'SVC+JWT',
          'application/svc+jwt',
          'svc+jwt ',
          '',
          null,
          ['svc+jwt'],
        ]),
      }),
    ...INVALID,
  },
  {
    name: "a user's JWT",
    forge: (call, { keys }) => {
      const { iat, jti } = call.claims
      const exp = Number(iat) + 900
      const header = { alg: keys.users.alg, typ: 'at+jwt', kid: keys.users.kid }
      const ids = { sub: 'u', userId: 'u', sessionId: 's', version: 1 }
      const user = { ...ids, iss: ORIGIN, aud: ORIGIN, iat, exp, jti }
      return { ...call, token: keys.users.seal(header, user) }
    },
    ...INVALID,
  },
  {
    name: 'a service JWT that names a session',
    forge: (call) => withClaims(call, { sub: 'u', userId: 'u', sessionId: 's' }),
    ...INVALID,
  },

  // Claims.
  {
    name: 'without a claim',
    forge: (call, { random }) => ({ ...call, claims: without(call.claims, random.pick(CLAIMS)) }),
    ...INVALID,
  },
  {
    name: 'without a member of the header',
    forge: (call, { random }) => ({
      ...call,
      header: without(call.header, random.pick(['alg', 'typ', 'kid'])),
    }),
    ...INVALID,
  },
  {
    name: 'with a claim twice',
    forge: (call, { random, other }) => {
      const name = random.pick([...CLAIMS, 'act', 'idempotencyKey'].filter((claim) => claim in call.claims))
      const first = random.chance(0.5) ? call.claims[name] : other.claims[name]
      return { ...call, token: call.key.seal(call.header, doubled(call.claims, name, first ?? null)) }
    },
    ...INVALID,
  },
  {
    name: 'with a member of the header twice',
    forge: (call, { random, keys }) => {
      const [name, value] = random.pick([
        ['alg', 'none'],
        ['typ', 'at+jwt'],
        ['kid', keys.stranger.kid],
        ['typ', 'svc+jwt'],
      ] as const)
      return { ...call, token: call.key.seal(doubled(call.header, name, value), call.claims) }
    },
    ...INVALID,
  },
  {
    name: 'with an additional member of the header',
    forge: (call, { random, keys }) =>
      withHeader(call, {
        ...random.pick<object>([
          { jwk: keys.stranger.publicJwk },
          { jku: 'https://other.example/jwks' },
          { x5c: [] },
          { crit: ['exp'] },
          { b64: false, crit: ['b64'] },
          { zip: 'DEF' },
          { cty: 'JWT' },
        ]),
      }),
    ...INVALID,
  },
  {
    name: 'with an additional claim',
    forge: (call, { random }) =>
      withClaims(
        call,
        random.pick<object>([{ nbf: 0 }, { scope: '*' }, { azp: 'edge' }, { FN: 'note.list' }]),
      ),
    ...INVALID,
  },
  {
    name: 'with a claim of another type',
    forge: (call, { random }) => {
      const name = random.pick(CLAIMS)
      const odd = ODD.filter((value) => !isInOrder(name, value))
      return withClaims(call, { [name]: random.pick(odd) })
    },
    status: 401,
    // An odd time may have passed.
    code: 'TOKEN_INVALID',
  },
  {
    name: 'on behalf of null',
    forge: (call, { random }) => withClaims(call, { act: random.pick<unknown>([null, 'u', [], [ACT], {}]) }),
    ...INVALID,
  },
  {
    name: 'on behalf of a user without a member',
    forge: (call, { random }) => withClaims(call, { act: without(ACT, random.pick(Object.keys(ACT))) }),
    ...INVALID,
  },
  {
    name: 'on behalf of a user with an additional member',
    forge: (call, { random }) =>
      withClaims(call, {
        act: { ...ACT, ...random.pick([{ role: 'admin' }, { act: ACT }, { aud: ORIGIN }]) },
      }),
    ...INVALID,
  },
  {
    name: 'on behalf of a user with a member of another type',
    forge: (call, { random }) => {
      const name = random.pick(Object.keys(ACT))
      const odd = ODD.filter((value) => !isActorValue(name, value))
      return withClaims(call, { act: { ...ACT, [name]: random.pick(odd) } })
    },
    ...INVALID,
  },
  {
    name: 'a query with an idempotency key',
    forge: (call) => asOperation(withClaims(call, { idempotencyKey: 'key' }), 'query'),
    ...INVALID,
  },
  {
    name: 'with an odd idempotency key',
    forge: (call, { random }) =>
      asOperation(
        withClaims(call, { idempotencyKey: random.pick<unknown>([0, '', {}, 'a\nb', 'x'.repeat(201)]) }),
        'mutation',
      ),
    ...INVALID,
  },

  // Encoding.
  {
    name: 'not canonical',
    forge: (call, { random }) => {
      const token = sealed(call)
      const [first, second, third] = segmentsOf(call)
      return {
        ...call,
        token: random.pick([
          `${token}.`,
          `${token}=`,
          `${token}==`,
          `.${token}`,
          `${first}.${second}`,
          `${first}.${second}.`,
          `${first}..${third}`,
          `${first}.${second}.${third}.${third}`,
          `${first}=.${second}.${third}`,
          `${first}.${second}.${lastBitTurned(third)}`,
          token.replaceAll('_', '/').replaceAll('-', '+').concat('+'),
          token.padEnd(3_801, 'A'),
        ]),
      }
    },
    ...INVALID,
  },
  {
    name: 'no token',
    forge: (call, { random }) => {
      const token = sealed(call)
      const authorization = random.pick([
        '',
        'Bearer',
        token,
        `Basic ${token}`,
        `bearer ${token}`,
        `Bearer  ${token}`,
        `Bearer ${token}, Bearer ${token}`,
        `Bearer ${token} ${token}`,
        `DPoP ${token}`,
      ])
      return { ...call, headers: { authorization } }
    },
    ...MISSING,
  },

  // Headers.
  {
    name: 'sent by a browser',
    forge: (call, { random }) => ({
      ...call,
      headers: random.pick<Record<string, string>>([
        { origin: ORIGIN },
        { origin: 'null' },
        { cookie: 'a=b' },
        { 'sec-fetch-site': 'same-origin' },
        { 'sec-fetch-site': 'none' },
      ]),
    }),
    status: 403,
    code: 'ORIGIN_REJECTED',
  },
  {
    name: 'with another method',
    forge: (call, { random }) => ({ ...call, method: random.pick(['GET', 'PUT', 'PATCH', 'DELETE']) }),
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
  },
  {
    name: 'of an unknown function',
    forge: (call, { random }) => {
      const path = random.pick([
        'note',
        'note.save.x',
        'note.Save',
        'sallyport',
        'sallyport.',
        'sallyport.revokeSession',
        'constructor',
        '__proto__',
        'toString',
        'note.__proto__',
        'note.constructor',
      ])
      return withBody(withClaims(call, { fn: path }), bodyOf({ ...said(call), path }))
    },
    status: 404,
    code: 'FUNCTION_NOT_FOUND',
  },
  {
    name: 'a mutation as a query, or vice versa',
    forge: (call) => {
      const own = { ...said(call), path: call.claims.op === 'query' ? 'note.list' : 'note.save' }
      const type = own.type === 'query' ? 'mutation' : 'query'
      return withBody(withClaims(call, { fn: own.path, op: type }), bodyOf({ ...own, type }))
    },
    status: 404,
    code: 'FUNCTION_NOT_FOUND',
  },
  {
    name: "with a body that isn't a call",
    forge: (call, { random }) =>
      withBody(
        call,
        random.pick([
          Buffer.from(''),
          Buffer.from('null'),
          Buffer.from('[]'),
          Buffer.from(`[${call.body}]`),
          Buffer.from(`\ufeff${call.body}`),
          Buffer.concat([call.body, Buffer.from([0xff])]),
          call.body.subarray(0, -1),
          bodyOf(without(said(call), 'path')),
          bodyOf(without(said(call), 'type')),
          bodyOf({ ...said(call), type: 'subscription' }),
          bodyOf({ ...said(call), path: [said(call).path] }),
        ]),
      ),
    status: 400,
    code: 'CALL_INVALID',
  },
  {
    name: 'with a body that is too large',
    forge: (call, { random }) => {
      const filler = 'x'.repeat(MAX_BODY_BYTES + random.below(MAX_BODY_BYTES))
      return withBody(call, bodyOf({ ...said(call), filler }))
    },
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
  },
]

/** Shifts a call's times by this many seconds. */
function shifted(call: Call, seconds: number): Call {
  const { iat, exp } = call.claims
  return withClaims(call, { iat: Number(iat) + seconds, exp: Number(exp) + seconds })
}

/** Returns whether a value is valid for a claim. */
function isInOrder(name: string, value: unknown): boolean {
  return (name === 'iss' || name === 'jti') && isText(value)
}

/** Returns whether a value is valid for a member of the acting user. */
function isActorValue(name: string, value: unknown): boolean {
  if (name === 'exp') return value === 0
  if (name === 'version') return value === null || (Number.isSafeInteger(value) && Number(value) > 0)
  return isText(value)
}

const isText = (value: unknown) => typeof value === 'string' && /^[^\p{C}]{1,200}$/u.test(value)

/** Returns the call as one of an app's query or mutation. */
function asOperation(call: Call, op: 'query' | 'mutation'): Call {
  const path = op === 'query' ? 'note.list' : 'note.save'
  return withBody(withClaims(call, { op, fn: path }), bodyOf({ type: op, path, input: { id: call.id } }))
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Flips the last bit. The last character of 64 bytes has four unused bits. */
function lastBitTurned(signature: string): string {
  const last = ALPHABET.indexOf(signature.at(-1) ?? 'A')
  return `${signature.slice(0, -1)}${ALPHABET[last ^ 1]}`
}
