import { createCipheriv } from 'node:crypto'
import { toSegment } from '../../support/forge-token.ts'
import type { HostileKey } from '../hostile-key.ts'
import type { Random } from '../random.ts'
import type { OwnClaims, Target } from '../target.ts'

const TYPES: readonly unknown[] = [
  ...['JWT', 'jwt', 'AT+JWT', 'at+JWT', 'at+jwt ', 'application/at+jwt', 'at-jwt', 'at', '', 'none', 'null'],
  ...[
    'id_token',
    'id+jwt',
    'svc+jwt',
    'rt+jwt',
    'logout+jwt',
    'secevent+jwt',
    'dpop+jwt',
    'client-authentication+jwt',
  ],
  ...[
    'oauth-authz-req+jwt',
    'token-introspection+jwt',
    'kb+jwt',
    'dc+sd-jwt',
    'JOSE',
    'JOSE+JSON',
    'JWE',
    'example',
  ],
  ...[null, 1, true, ['at+jwt'], { typ: 'at+jwt' }],
]

/** Claims of other kinds of token, added to valid claims or replacing them. */
const CLAIMS: readonly ((claims: OwnClaims, random: Random) => object)[] = [
  (claims) => claims,
  (claims, random) => ({
    ...claims,
    nonce: random.bytes(8).toString('hex'),
    auth_time: 1,
    at_hash: 'AA',
    email: 'a@b.c',
  }),
  (claims) => ({
    ...claims,
    sid: claims.sessionId,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  }),
  (claims) => ({ ...claims, client_id: 'app', scope: 'openid admin', token_use: 'access' }),
  ({ iss, aud, sub, iat, exp, jti }) => ({
    iss,
    aud,
    sub,
    iat,
    exp,
    jti,
    htm: 'GET',
    htu: 'http://localhost:3000/',
  }),
]

/** Other formats that carry the same claims. */
const FRAMES: readonly ((
  genuine: { key: HostileKey; header: string; payload: string },
  random: Random,
) => string)[] = [
  // JWE: five segments, in a minimal and a realistic form.
  ({ header, payload }, random) => encrypt(header, payload, random),
  ({ header, payload }) => `${header}.${payload}...`,
  ({ header, payload }) => `${header}.${payload}.AA.AA.AA`,
  // An unsecured JWT (RFC 7519 section 6).
  ({ payload }) => `${toSegment({ alg: 'none' })}.${payload}.`,
  ({ payload }) => `${toSegment({ alg: 'none', typ: 'at+jwt' })}.${payload}.`,
  ({ header, payload }) => `${header}.${payload}.`,
  // JWS with a detached or unencoded payload (RFC 7797), and in its JSON serializations.
  ({ key, header, payload }) => `${header}..${signature(key, header, payload)}`,
  ({ key, header, payload }) =>
    `${header}.${Buffer.from(payload, 'base64url')}.${signature(key, header, payload)}`,
  ({ key, header, payload }) =>
    JSON.stringify({ payload, protected: header, signature: signature(key, header, payload) }),
  ({ key, header, payload }) =>
    JSON.stringify({
      payload,
      signatures: [{ protected: header, signature: signature(key, header, payload) }],
    }),
  // A JWT in a JWT, SD-JWT, PASETO, and similar formats.
  ({ key, header, payload }) => key.sealSegments(header, toSegment(key.sealSegments(header, payload))),
  ({ key, header, payload }) =>
    `${key.sealSegments(header, payload)}~${toSegment(['salt', 'role', 'admin'])}~`,
  ({ key, header, payload }) => `v4.public.${payload}${signature(key, header, payload)}`,
  ({ key, header, payload }) => `v4.public.${payload}.${signature(key, header, payload)}`,
  ({ key, header, payload }) => `Bearer ${key.sealSegments(header, payload)}`,
  ({ key, header, payload }) => `"${key.sealSegments(header, payload)}"`,
  ({ key, header, payload }) => `${key.sealSegments(header, payload)}.${key.sealSegments(header, payload)}`,
  (_genuine, random) => random.bytes(32).toString('hex'),
]

/** Returns a token that a gate for other tokens might accept: another `typ`, another format, or both. */
export function chooseKind(random: Random, target: Target): string {
  const key = random.pick(target.ownKeys)
  const { typ: _, ...rest } = target.header(key)
  const claims = random.pick(CLAIMS)(target.claims(random.pick(target.live)), random)
  const type = random.chance(0.1) ? {} : { typ: random.pick(TYPES) }
  if (random.chance(0.5)) return key.seal({ ...rest, ...type }, claims)
  const header = toSegment(random.chance(0.5) ? target.header(key) : { ...rest, ...type })
  return random.pick(FRAMES)({ key, header, payload: toSegment(claims) }, random)
}

function signature(key: HostileKey, header: string, payload: string): string {
  return key.sign(`${header}.${payload}`).toString('base64url')
}

function encrypt(header: string, payload: string, random: Random): string {
  const iv = random.bytes(12)
  const cipher = createCipheriv('aes-256-gcm', random.bytes(32), iv).setAAD(Buffer.from(header))
  const text = Buffer.concat([cipher.update(payload), cipher.final()])
  return [header, '', iv, text, cipher.getAuthTag()]
    .map((part) => (typeof part === 'string' ? part : part.toString('base64url')))
    .join('.')
}
