import type * as z from 'zod'
import type { AuthConfig } from '../config.ts'
import type { AuthTransaction, RecordEvent } from '../database/auth-transaction.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import type { DefinePayload } from '../jwt/issue-jwt.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { reject } from '../protocol/endpoint-error.ts'
import type { Route } from '../protocol.ts'
import type { RateLimit } from '../rate-limit/rate-limit.ts'
import type { SessionCookie } from '../request/credentials.ts'
import type { OriginRequest, RequestKind } from '../request/origin.ts'
import type { Authenticated } from '../session/authenticate.ts'

/**
 * Who may call an endpoint. The callers `fresh-user` and `fresh-admin` must have proved a moment ago who
 * they are. Checked before the input is parsed: a stranger learns nothing about the fields.
 */
export type Caller = 'anyone' | 'user' | 'fresh-user' | 'admin' | 'fresh-admin'

/** What an endpoint may use besides its input. */
export interface EndpointContext {
  readonly config: AuthConfig
  readonly signingKeys: SigningKeys
  readonly definePayload: DefinePayload
  readonly database: SessionDatabase
  readonly request: OriginRequest
  /** The address of the client; null where nobody said. */
  readonly address: string | null
  /** The session cookie, or the header that stands for it, however good it is. */
  readonly sessionCookie: SessionCookie | null
  /**
   * How the caller keeps the secret of the session. With `header` no cookie of the request counts and none is in the answer: what would
   * have been in the session cookie is the member `sessionToken` of the body.
   */
  readonly sessionTransport: 'cookie' | 'header'
  /**
   * Counts an attempt.
   *
   * @throws AuthError `RATE_LIMITED` when there were too many
   */
  limit(key: string, limit: RateLimit): Promise<void>
  /** Takes back an attempt that `limit` counted, because it succeeded. A failure goes to `onError`. */
  giveBack(key: string, limit: RateLimit): Promise<void>
  /**
   * Makes a change in one transaction with its record in `audit`. Where the endpoint has a caller, their session is locked and read again
   * first: the change is committed before a revocation of it or not at all.
   */
  change<Result>(work: (trx: AuthTransaction, record: RecordEvent) => Promise<Result>): Promise<Result>
  /** Does work after the answer, which neither waits for it nor tells how it went; a failure is told to `onError`. */
  later(work: () => Promise<void>): void
}

/** The context of an endpoint that not anyone may call. */
export interface AdmittedContext extends EndpointContext, Authenticated {}

/** What an endpoint answers with status 200. */
export interface EndpointResult<Output = object> {
  readonly body: Output
  /** `Set-Cookie` values; not sent to a caller who sends the session header. */
  readonly cookies?: readonly string[]
}

/**
 * One auth endpoint. It is served over HTTP, called as a method of `auth.api`, and called by the client, with the same input, output
 * and checks.
 */
export interface Endpoint<Input = unknown, Output extends object = object, Sets extends boolean = boolean>
  extends Route {
  readonly caller: Caller
  /** For a fresh caller: the greatest age of the proof, in seconds. @default `session.freshForSeconds` */
  readonly freshForSeconds?: number | undefined
  /** The rule of the origin policy; null where the answer is the same for everyone. */
  readonly origin: Extract<RequestKind, 'query' | 'mutation' | 'token'> | null
  /** Whether its answer may set cookies. */
  readonly setsCookies: Sets
  /** Parses the input and does the work, for a caller that was admitted. */
  readonly run: (
    input: unknown,
    context: EndpointContext | AdmittedContext,
  ) => Promise<EndpointResult<Output>>
  /** For the types alone; never there. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
}

interface Common<Input, Output, Sets> extends Route {
  /** For a fresh caller, in seconds. @default `session.freshForSeconds` of the configuration */
  freshForSeconds?: number | undefined
  /** @default 'mutation' for a POST, 'query' for a GET */
  origin?: Endpoint['origin']
  /** @default false */
  setsCookies?: Sets
  /** Of a GET, the input is the query: texts by name. */
  input: z.ZodType<Input>
  /** What it does not name is not answered. */
  output: z.ZodType<Output>
}

type Run<Input, Output, Sets, Context> = (
  input: Input,
  context: Context,
) => Promise<Sets extends true ? EndpointResult<Output> : { readonly body: Output }>

/** What {@link defineEndpoint} takes. */
export type EndpointDefinition<Input, Output, Sets extends boolean> =
  | (Common<Input, Output, Sets> & { caller: 'anyone'; run: Run<Input, Output, Sets, EndpointContext> })
  | (Common<Input, Output, Sets> & {
      caller: Exclude<Caller, 'anyone'>
      run: Run<Input, Output, Sets, AdmittedContext>
    })

/**
 * Defines an endpoint; an input that does not parse is 400 `INVALID_INPUT` with the names of the fields at fault.
 *
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
  const { method, path, caller, input, output } = definition
  return {
    method,
    path,
    caller,
    freshForSeconds: definition.freshForSeconds,
    origin: definition.origin === undefined ? (method === 'GET' ? 'query' : 'mutation') : definition.origin,
    setsCookies: (definition.setsCookies ?? false) as Sets,
    async run(raw, context) {
      const result = await work(definition, parseInput(input, raw), context)
      return { ...result, body: output.parse(result.body) }
    },
  }
}

function work<Input, Output, Sets extends boolean>(
  definition: EndpointDefinition<Input, Output, Sets>,
  input: Input,
  context: EndpointContext | AdmittedContext,
): Promise<EndpointResult<Output>> {
  if (definition.caller === 'anyone') return definition.run(input, context)
  if (!('session' in context)) throw new TypeError(`${definition.path} was run for nobody`)
  return definition.run(input, context)
}

function parseInput<Input>(schema: z.ZodType<Input>, raw: unknown): Input {
  const parsed = schema.safeParse(raw)
  if (parsed.success) return parsed.data
  throw reject('INVALID_INPUT', { fields: fieldsOf(parsed.error), cause: parsed.error })
}

/** Names of the fields at fault. One that is not taken stands beside the path of its issue, not in it. */
function fieldsOf({ issues }: z.ZodError): string[] {
  const names = issues
    .flatMap(({ path, ...issue }) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path],
    )
    .map((path) => path.join('.'))
    .filter((name) => name !== '')
  return [...new Set(names)]
}
