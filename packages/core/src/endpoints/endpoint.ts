import type * as z from 'zod'
import { authenticate } from '../authenticate.ts'
import type { AuthConfig } from '../config.ts'
import type { SessionCookie } from '../credentials.ts'
import { AuthError } from '../errors.ts'
import type { DefinePayload } from '../jwt/issue-jwt.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { OriginRequest, RequestKind } from '../origin.ts'
import type { SessionDatabase } from '../session/lifecycle.ts'
import { EndpointError } from './endpoint-error.ts'

/** What an endpoint may use besides its input. */
export interface EndpointContext {
  readonly config: AuthConfig
  readonly signingKeys: SigningKeys
  readonly definePayload: DefinePayload
  readonly database: SessionDatabase
  readonly request: OriginRequest
  /** The session cookie, however good it is. */
  readonly sessionCookie: SessionCookie | null
}

/** What an endpoint answers with status 200. */
export interface EndpointResult {
  readonly body: object
  /** `Set-Cookie` values. */
  readonly cookies?: readonly string[]
}

/** Who may call an endpoint. Decided before the fields of the body are looked at, so that a stranger learns nothing of what it takes. */
export type Caller = 'anyone' | 'admin'

/** One auth endpoint: method and path, what it takes, and what it does. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** Relative to `/api/auth`. */
  readonly path: string
  /** The rule of the origin policy; null where the answer is the same for everyone. */
  readonly origin: Extract<RequestKind, 'mutation' | 'token'> | null
  /** Admits the caller, parses the body and does the work. */
  readonly run: (body: unknown, context: EndpointContext) => Promise<EndpointResult>
}

/** Defines an endpoint; a body that does not parse is 400 `INVALID_INPUT` with the names of the fields at fault. */
export function defineEndpoint<Input extends z.ZodType>(definition: {
  method: Endpoint['method']
  path: string
  origin: Endpoint['origin']
  caller: Caller
  input: Input
  run: (input: z.infer<Input>, context: EndpointContext) => Promise<EndpointResult>
}): Endpoint {
  const { method, path, origin, caller, input } = definition
  return {
    method,
    path,
    origin,
    async run(body, context) {
      if (caller === 'admin') await requireAdmin(context)
      const parsed = input.safeParse(body)
      if (!parsed.success) {
        throw new EndpointError('INVALID_INPUT', { fields: fieldsOf(parsed.error), cause: parsed.error })
      }
      return definition.run(parsed.data, context)
    },
  }
}

/** Names of the fields at fault. One that is not taken stands beside the path of its issue, not in it. */
function fieldsOf({ issues }: z.ZodError): string[] {
  return issues
    .flatMap(({ path, ...issue }) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path],
    )
    .map((path) => path.join('.'))
    .filter((name) => name !== '')
}

async function requireAdmin({ config, database, request }: EndpointContext): Promise<void> {
  const { session } = await authenticate(request, 'mutation', { config, adapter: database.sessions })
  if (session.user.role !== 'admin') throw new AuthError('ROLE_REQUIRED')
}
