import {
  type AuthConfig,
  AuthError,
  type AuthStore,
  type SessionKey,
  type StoredSession,
} from '@sallyport/core'
import type { Endpoint, EndpointResult } from '@sallyport/core/auth'
import { CLIENT_HEADER, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { authRequest } from '../server/auth-handle.ts'
import type { AuthContext } from '../server/context.ts'
import { isObject } from './call/envelope.ts'
import type { FunctionContext, FunctionReference, Runner, RunnerCall } from './runner/runner.ts'
import { functionPath, writes } from './runner/runner.ts'
import { createSessionBatches } from './session-batches.ts'

export type CallEndpoint = (name: string, endpoint: Endpoint, input: object) => Promise<EndpointResult>

/** The call of an endpoint, with the credentials of the user. */
export interface EndpointCall {
  /** The name of the method of `auth.api`. */
  readonly name: string
  readonly input: object
  readonly request: {
    readonly method: string
    /** By lower-case name. */
    readonly headers: Readonly<Record<string, string>>
    readonly remoteAddress: string | null
  }
}

export interface EndpointResponse {
  readonly body: object
  readonly cookies?: readonly string[]
}

type EndpointFunction<Type extends RunnerCall['type']> = FunctionReference<
  Type,
  EndpointCall,
  EndpointResponse
>

const queryEndpoint: EndpointFunction<'query'> = { [functionPath]: 'sallyport.queryEndpoint' }
const mutateEndpoint: EndpointFunction<'mutation'> = { [functionPath]: 'sallyport.mutateEndpoint' }

/** The headers that endpoints read. This process applies `trustedProxies`, so the headers of proxies stay. */
const HEADERS = [
  'authorization',
  'cookie',
  'origin',
  'purpose',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'sec-purpose',
  'user-agent',
  'x-moz',
  CLIENT_HEADER,
  SESSION_HEADER,
]

/** Calls endpoints in the process with the database, which check the user's credentials. */
export function httpAdapter({ auth, runQuery, runMutation }: AuthContext & FunctionContext): CallEndpoint {
  return async (name, endpoint, input) => {
    const { method, header } = auth[authRequest].request
    const headers: Record<string, string> = {}
    for (const headerName of HEADERS) {
      const value = header(headerName)
      if (value !== null) headers[headerName] = value
    }
    const call = { name, input, request: { method, headers, remoteAddress: auth.address() } }
    const response = await (writes(endpoint)
      ? runMutation(mutateEndpoint, call)
      : runQuery(queryEndpoint, call))
    if (isObject(response?.body)) return response
    throw unavailable(
      `The response of auth.api.${name}() has no body. Run the same version in both processes`,
    )
  }
}

/** The store of each runner, so streams of one session share its reads. */
const stores = new WeakMap<Runner, AuthStore>()

/** Returns a store that reads sessions and consumes rate limits where the database is. */
export function httpStore(runner: Runner, config: Pick<AuthConfig, 'lookupTimeoutMs'>): AuthStore {
  const store = stores.get(runner) ?? createHttpStore(runner, config)
  stores.set(runner, store)
  return store
}

function createHttpStore(
  runner: Runner,
  { lookupTimeoutMs }: Pick<AuthConfig, 'lookupTimeoutMs'>,
): AuthStore {
  // Without an actor: Step 2 runs in this process, with the reasons of the direct adapter.
  const actor = null
  const readSession = createSessionBatches(findSessions, lookupTimeoutMs)

  async function findSessions(keys: readonly SessionKey[]): Promise<readonly unknown[]> {
    const [input] = keys
    const isOne = keys.length === 1
    const sessions = isOne
      ? [await runner.run({ type: 'query', path: 'sallyport.findSession', input, actor })]
      : await runner.run({ type: 'query', path: 'sallyport.findSessions', input: keys, actor })
    if (Array.isArray(sessions) && sessions.length === keys.length) return sessions
    throw unavailable('The response is not a list of sessions. Run the same version in both processes')
  }

  return {
    sessions: {
      async findSession({ sessionId, userId }) {
        const session = await readSession({ sessionId, userId })
        return session === null ? null : fromSessionJson(session)
      },
    },
    // This process gets no revocations. Streams read the session again before their lease ends.
    revocations: { revision: 0, subscribe: () => () => {}, publish() {} },
    limits: {
      async consume(key, limit) {
        const input = { key, limit }
        const seconds = await runner.run({ type: 'mutation', path: 'sallyport.consumeLimit', input, actor })
        if (seconds === null || typeof seconds === 'number') return seconds
        // Fail closed: an unreadable response must not allow an attempt.
        throw unavailable('The rate limit is not a number. Run the same version in both processes')
      },
    },
  }
}

function unavailable(message: string): AuthError {
  return new AuthError('SESSIONS_UNAVAILABLE', { cause: new TypeError(message) })
}

/** A session in JSON. Dates are ISO 8601 text, and an invalid date is empty. */
export type SessionJson = Omit<StoredSession, 'expiresAt' | 'ban'> & {
  readonly expiresAt: string
  readonly ban: { readonly until: string | null } | null
}

/** Parses a session from another process. `validateSession` rejects one of another session or user. */
export function fromSessionJson(json: unknown): StoredSession {
  if (!isSessionJson(json))
    throw new TypeError('The response is not a session. Run the same version in both processes')
  const { expiresAt, ban } = json
  const until = typeof ban?.until === 'string' ? new Date(ban.until) : null
  return { ...json, expiresAt: new Date(expiresAt), ban: ban && { until } }
}

function isSessionJson(json: unknown): json is SessionJson {
  if (!isObject(json) || typeof json.expiresAt !== 'string' || !isObject(json.user)) return false
  const { ban } = json
  return ban === null || (isObject(ban) && (ban.until === null || typeof ban.until === 'string'))
}
