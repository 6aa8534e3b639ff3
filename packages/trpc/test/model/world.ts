import { AUTH_PATH } from '@sallyport/core/internal/protocol'
import { ORIGIN } from '../support/visitor.ts'
import type { Node, System } from './open-system.ts'
import type { Credentials, Jwt, Key, Model, ModelNode, Outcome, Secret, Session } from './state.ts'
import type { Caller, Socket } from './transports.ts'

/** A credential, and what the model knows about it. */
export interface Held<Facts> {
  readonly facts: Facts
  readonly text: string
}

/** The cookies of a browser. */
export interface Jar {
  readonly jwt: Held<Jwt> | null
  readonly secret: Held<Secret> | null
}

export interface HeldSocket {
  readonly socket: Socket
  readonly node: number
  readonly credentials: Credentials
  /** The outcome of Step 1 at the handshake. */
  readonly first: Outcome
  /** The server may have closed it. */
  mayClose: boolean
}

/** A user in the system beside the model of that user. */
export interface World {
  readonly system: System
  readonly model: Model
  readonly modelNodes: readonly [ModelNode, ModelNode]
  readonly userId: string
  readonly email: string
  password: string
  formerPassword: string | null
  /** The address of all requests, which no other history uses. */
  readonly address: string
  readonly jars: [Jar, Jar]
  /** All credentials so far, as someone with copies has them. */
  readonly jwts: Held<Jwt>[]
  readonly secrets: Held<Secret>[]
  readonly sockets: HeldSocket[]
  /** The keys in the set, the newest first. */
  readonly keys: { readonly kid: string; readonly key: Key }[]
  readonly ids: Map<Session, string>
  /** How often each outcome occurred. */
  readonly counts: Record<string, number>
}

export const NO_COOKIES: Jar = { jwt: null, secret: null }

export const factsOf = ({ jwt, secret }: Jar): Credentials => ({
  jwt: jwt?.facts ?? null,
  secret: secret?.facts ?? null,
})

export function callerOf({ system, address }: World, { jwt, secret }: Jar): Caller {
  const { cookies } = system.nodes[0].config
  const pairs = [jwt && `${cookies.jwt}=${jwt.text}`, secret && `${cookies.session}=${secret.text}`]
  return { cookie: pairs.filter((pair) => pair !== null).join('; '), address }
}

/** @throws if the answer isn't an allowed outcome; accepted is the id of the expected session */
export function check(
  { counts, ids }: World,
  what: string,
  {
    answer,
    session,
    allowed,
  }: { answer: string; session?: Session | undefined; allowed: readonly Outcome[] },
): void {
  const outcome = session !== undefined && answer === ids.get(session) ? 'accepted' : answer
  if (!allowed.some((each) => each === outcome))
    throw new Error(`${what}: ${outcome}, but the model allows ${allowed.join(' or ')}`)
  counts[`${what}: ${outcome}`] = (counts[`${what}: ${outcome}`] ?? 0) + 1
}

export interface EndpointAnswer {
  readonly answer: string
  readonly setCookies: readonly string[]
}

/** Calls an auth endpoint. The answer is `accepted`, or the code of the rejection. */
export async function callEndpoint(
  { auth }: Node,
  path: string,
  { cookie, address, body }: Caller & { readonly body?: object },
): Promise<EndpointAnswer> {
  const request = new Request(`${ORIGIN}${AUTH_PATH}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { cookie, origin: ORIGIN, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const response = await auth.handler(request, { remoteAddress: address })
  const json = await response.json()
  return { answer: response.ok ? 'accepted' : json.code, setCookies: response.headers.getSetCookie() }
}

/** Returns a browser's cookies after a response, and keeps copies of the new ones. */
export function receive(world: World, jar: Jar, setCookies: readonly string[]): Jar {
  const { cookies } = world.system.nodes[0].config
  let { jwt, secret } = jar
  for (const setCookie of setCookies) {
    const [, name, text = ''] = /^([^=]+)=([^;]*)/.exec(setCookie) ?? []
    if (name === cookies.jwt) jwt = text === '' ? null : { text, facts: readJwt(world, text) }
    if (name === cookies.session) secret = text === '' ? null : { text, facts: readSecret(world, text) }
  }
  if (jwt !== null && jwt !== jar.jwt) world.jwts.push(jwt)
  if (secret !== null && secret !== jar.secret) world.secrets.push(secret)
  return { jwt, secret }
}

function readJwt(world: World, token: string): Jwt {
  const [header = {}, payload = {}] = token.split('.', 2).map((part) => parse(part))
  const key = world.keys.find(({ kid }) => kid === header.kid)?.key
  if (key === undefined) throw new Error('A JWT was signed by a key outside the set')
  const { version, exp: expiresAt } = payload
  return {
    session: sessionOf(world, String(payload.sessionId)),
    version: Number(version),
    expiresAt: Number(expiresAt),
    key,
  }
}

function readSecret(world: World, cookie: string): Secret {
  const session = sessionOf(world, cookie.split('.')[0] ?? '')
  return { session, version: session.version }
}

function parse(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString())
}

/** An unknown id is that of the session that has just begun. */
function sessionOf({ ids, model }: World, id: string): Session {
  const known = [...ids].find(([, each]) => each === id)?.[0]
  const session = known ?? model.sessions.find((each) => !ids.has(each))
  if (session === undefined) throw new Error(`No session of the model has the id ${id}`)
  ids.set(session, id)
  return session
}
