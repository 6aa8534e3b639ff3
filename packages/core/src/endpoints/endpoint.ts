import * as z from 'zod/mini'
import type { AuthConfig } from '../config.ts'
import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent, SessionDatabase } from '../database/session-database.ts'
import type { DefinePayload } from '../jwt/issue-jwt.ts'
import type { EncryptionKeys } from '../keys/encryption-keys.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import type { Factor, Route } from '../protocol.ts'
import type { RateLimit } from '../rate-limit/rate-limit.ts'
import type { SessionCookie } from '../request/credentials.ts'
import type { OriginRequest, RequestKind } from '../request/origin.ts'
import type { Authenticated } from '../session/authenticate.ts'
import { requireKnownFactor } from '../session/authentication-methods.ts'

const CALLERS = ['anyone', 'user', 'fresh-user', 'admin', 'fresh-admin'] as const

/** Who may call an endpoint. Checked before the input is parsed, so others learn nothing about the fields. */
export type Caller = (typeof CALLERS)[number]

export interface EndpointContext {
  readonly config: AuthConfig
  readonly signingKeys: SigningKeys
  readonly definePayload: DefinePayload
  readonly encryptionKeys: EncryptionKeys | null
  readonly database: SessionDatabase
  readonly request: OriginRequest
  /** The client's; null if unknown. */
  readonly address: string | null
  /** The session cookie, or the session header, valid or not. */
  readonly sessionCookie: SessionCookie | null
  /** With `header`, cookies are ignored and none are set. The secret is `sessionToken` in the body. */
  readonly sessionTransport: 'cookie' | 'header'
  /** Consumes an attempt. @throws AuthError `RATE_LIMITED` */
  readonly limit: (key: string, limit: RateLimit) => Promise<void>
  /** Gives back an attempt that succeeded. A failure goes to `onFailure`. */
  readonly giveBack: (key: string, limit: RateLimit) => Promise<void>
  /** Commits a change with its audit record, unless the caller's session has ended meanwhile. */
  readonly change: <Result>(
    work: (trx: AuthTransaction, record: RecordEvent) => Promise<Result>,
  ) => Promise<Result>
  /** Does work after the response, independent of it. A failure goes to `onFailure`. */
  readonly later: (work: () => Promise<unknown>) => void
  /** Whether the plugins let a user sign in, each on its own. */
  readonly waysIn: readonly CanSignIn[]
  /** The second factors of all plugins. */
  readonly secondFactors: readonly SecondFactor[]
  /** The browsers that the plugins remember. */
  readonly browsers: readonly BrowserMemory[]
}

/** Returns whether a user can sign in with a plugin, such as with a password or a linked provider. */
export type CanSignIn = (userId: string, db: AuthKysely) => Promise<boolean>

/** The browsers of each user that a plugin remembers, whichever way they sign in. */
export interface BrowserMemory {
  /** Returns whether this browser has signed in to the account before. Null is an account yet to come. */
  isKnown(userId: string | null, context: EndpointContext): Promise<boolean>
  /** Remembers this browser, unless the session that it began has ended. Returns `Set-Cookie` values. */
  remember(
    session: { readonly userId: string; readonly sessionId: string },
    context: EndpointContext,
  ): Promise<readonly string[]>
  /** Makes all browsers of a user unknown, in the transaction of a change. */
  forget(userId: string, trx: AuthTransaction): Promise<void>
  /** Tells the user, after the response, that an unknown browser signed in, or lacks only a second factor. */
  report?(userId: string, context: EndpointContext): void
}

/** A factor that a plugin has removed from an account, if the account had it. */
export interface RemovedFactor {
  /** Emails the user. Call it after the change, if another person removed the factor. */
  notify(context: EndpointContext): void
}

/** A second factor of a plugin. */
export interface SecondFactor {
  /** The methods with which this user can complete a sign-in, such as `otp`; empty if they have none. */
  methodsOf(userId: string, db: AuthKysely): Promise<readonly string[]>
  /** If false, these methods only complete sign-ins that another factor requires. @default true */
  readonly isRequired?: boolean
  /** Returns whether this user may sign in with this browser alone. @default never */
  isTrusted?(userId: string, context: EndpointContext, db: AuthKysely): Promise<boolean>
  /** Removes the factor from an account, in the transaction of a change. */
  remove(userId: string, trx: AuthTransaction): Promise<RemovedFactor>
}

export interface AuthorizedContext extends EndpointContext, Authenticated {}

export interface EndpointResult<Output = object> {
  readonly body: Output
  /** `Set-Cookie` values; not sent to a caller with the session header. */
  readonly cookies?: readonly string[]
  /** Over HTTP, responds with 303 to this URL, without the body. */
  readonly redirect?: string
}

/** An endpoint with the same input, output, and checks over HTTP, in `auth.api`, and in the client. */
export interface Endpoint<Input = unknown, Output extends object = object, Sets extends boolean = boolean>
  extends Route {
  readonly caller: Caller
  /** For a fresh caller: the maximum age of the authentication. @default `session.freshForSeconds` */
  readonly freshForSeconds?: number | undefined
  /** For a fresh caller: the factor that must be this recent. @default any proof of the user's identity */
  readonly factor?: Factor | undefined
  /** Null if the response is the same for everyone. @default 'mutation' for a POST, 'query' for a GET */
  readonly origin: Extract<RequestKind, 'query' | 'mutation' | 'token'> | null
  readonly setsCookies: Sets
  /** The body of a POST. @default 'json' */
  readonly accepts?: 'json' | 'form' | undefined
  /** Parses the input and does the work. The caller is already authorized. */
  readonly run: (
    input: unknown,
    context: EndpointContext | AuthorizedContext,
  ) => Promise<EndpointResult<Output>>
  /** Never present; carries the types. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

interface Definition<Input, Output, Sets, For extends Caller, Context>
  extends Route,
    Partial<Pick<Endpoint, 'origin' | 'freshForSeconds' | 'factor' | 'accepts'>> {
  caller: For
  /** @default false */
  setsCookies?: Sets
  /** For a GET, the input is the query: strings by name. */
  input: z.core.$ZodType<Input>
  /** Removes other members from the response. */
  output: z.core.$ZodType<Output>
  run: (
    input: Input,
    context: Context,
  ) => Promise<Sets extends true ? EndpointResult<Output> : { readonly body: Output }>
}

export type EndpointDefinition<Input, Output, Sets extends boolean> =
  | Definition<Input, Output, Sets, 'anyone', EndpointContext>
  | Definition<Input, Output, Sets, Exclude<Caller, 'anyone'>, AuthorizedContext>

/**
 * Defines an endpoint. Responds to invalid input with 400 `INVALID_INPUT` and the names of the fields.
 * @throws ConfigurationError if `caller` or `factor` is unknown, `factor` is set although the caller needn't
 * be fresh, or no URL has the path
 * @example
 * const countNotes = defineEndpoint({
 *   method: 'GET',
 *   path: '/notes/count',
 *   caller: 'user',
 *   input: z.object({}),
 *   output: z.object({ count: z.number() }),
 *   run: async (_input, { session }) => ({ body: { count: await count(session.userId) } }),
 * })
 */
export function defineEndpoint<Input, Output extends object, Sets extends boolean = false>(
  definition: EndpointDefinition<Input, Output, Sets>,
): Endpoint<Input, Output, Sets> {
  const { method, path, caller, freshForSeconds, factor, accepts, input, output } = definition
  const { origin = method === 'GET' ? 'query' : 'mutation', setsCookies = false } = definition
  // A typo would open the endpoint to every user.
  if (!CALLERS.includes(caller))
    throw new ConfigurationError(`${path}: caller: ${caller} is unknown. Use ${CALLERS.join(', ')}.`)
  if (URL.parse(path, 'http://localhost')?.pathname !== path)
    throw new ConfigurationError(
      `${path}: no request has this path. Start it with a slash, without characters that a URL encodes.`,
    )
  requireKnownFactor(`${path}: factor`, factor ?? null)
  if (factor !== undefined && caller !== 'fresh-user' && caller !== 'fresh-admin')
    throw new ConfigurationError(`${path}: factor needs the caller fresh-user or fresh-admin.`)
  return {
    method,
    path,
    caller,
    freshForSeconds,
    factor,
    origin,
    accepts,
    setsCookies: setsCookies as Sets,
    async run(raw, context) {
      const { success, data, error } = z.safeParse(input, raw)
      if (!success) throw reject('INVALID_INPUT', { fields: fieldsOf(error), cause: error })
      const result: EndpointResult<Output> =
        definition.caller === 'anyone'
          ? await definition.run(data, context)
          : await definition.run(data, authorized(context))
      return { ...result, body: z.parse(output, result.body) }
    },
  }
}

function authorized(context: EndpointContext | AuthorizedContext): AuthorizedContext {
  if ('session' in context) return context
  throw new TypeError('This endpoint needs a session. Call it through auth.api or the handler.')
}

/** Returns the names of invalid fields. The path of an issue doesn't include unrecognized keys. */
function fieldsOf({ issues }: z.core.$ZodError): string[] {
  const paths = issues.flatMap(({ path, ...issue }) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path],
  )
  return [...new Set(paths.map((path) => path.join('.')).filter((name) => name !== ''))]
}
