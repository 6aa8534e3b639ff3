import type { AuthDefinition } from './definition.ts'
import { createHandler } from './endpoints/handler.ts'
import { jwks } from './endpoints/jwks.ts'
import { signOut } from './endpoints/sign-out.ts'
import { token } from './endpoints/token.ts'
import type { SessionDatabase } from './session/lifecycle.ts'

export {
  type AuthDefinition,
  type AuthDefinitionOptions,
  type AuthPlugin,
  defineAuth,
} from './definition.ts'
export {
  defineEndpoint,
  type Endpoint,
  type EndpointContext,
  type EndpointResult,
} from './endpoints/endpoint.ts'
export { EndpointError, type EndpointErrorCode } from './endpoints/endpoint-error.ts'
export { beginSession } from './endpoints/issue-tokens.ts'
export { type DefinePayload, type IssuedJwt, issueJwt } from './jwt/issue-jwt.ts'
export { type KeyFile, type KeyFileOptions, openKeyFile } from './key-file/open-key-file.ts'
export {
  createSigningKey,
  parseSigningKeys,
  type SigningKey,
  type SigningKeys,
} from './keys/signing-keys.ts'
export {
  banUser,
  createSession,
  type NewSession,
  revokeSession,
  type SessionDatabase,
} from './session/lifecycle.ts'

/** The auth server of an app. */
export interface Auth {
  /** Answers every request under `/api/auth`; never rejects. */
  handler(request: Request): Promise<Response>
}

/**
 * Puts an auth definition to work on a database.
 *
 * @param options.onError is told of every failure that became a 500; by default it is written to the console
 * @example app.all('/api/auth/*', (c) => auth.handler(c.req.raw))
 */
export function createAuth(
  definition: AuthDefinition,
  database: SessionDatabase,
  options: { onError?: (error: unknown) => void } = {},
): Auth {
  const endpoints = [signOut, token, jwks, ...definition.plugins.flatMap((plugin) => plugin.endpoints)]
  const onError = options.onError ?? ((error: unknown) => console.error(error))
  return { handler: createHandler(endpoints, definition, { database, onError }) }
}
