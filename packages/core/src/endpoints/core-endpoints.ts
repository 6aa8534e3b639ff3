import * as z from 'zod/mini'
import type { PublicKeys } from '../keys/key-ring.ts'
import { ENDPOINTS } from '../protocol.ts'
import type { SessionColumns, UserColumns } from './declared-columns.ts'
import type { AuthPlugin } from './definition.ts'
import { defineEndpoint, type Endpoint } from './endpoint.ts'
import * as ownSessions from './own-sessions.ts'
import { type OwnUserEndpoints, ownUserEndpoints } from './own-user.ts'
import { anyQuery } from './plain-schemas.ts'
import { signOut } from './sign-out.ts'
import { token } from './token.ts'

/** Returns the public keys, for verifiers with a dynamic JWKS (RFC 7517 section 5). */
const jwks: Endpoint<object, PublicKeys, false> = defineEndpoint({
  ...ENDPOINTS.jwks,
  origin: null,
  caller: 'anyone',
  input: anyQuery,
  // `publicKeys` has already removed the private members.
  output: z.custom<PublicKeys>(),
  run: async (_input, { signingKeys }) => ({ body: signingKeys.publicJwks }),
})

export type CoreEndpoints<OfUser = unknown, OfSession = unknown, OfInput = unknown> = typeof ownSessions &
  OwnUserEndpoints<OfUser, OfSession, OfInput> & {
    readonly signOut: typeof signOut
    readonly token: typeof token
    readonly jwks: typeof jwks
  }

export function coreEndpoints(plugins: readonly AuthPlugin[]): CoreEndpoints {
  const columns: UserColumns = Object.assign({}, ...plugins.map(({ userColumns }) => userColumns))
  const sessionColumns: SessionColumns = Object.assign({}, ...plugins.map(({ sessionColumns: own }) => own))
  return { signOut, token, jwks, ...ownUserEndpoints(columns, sessionColumns), ...ownSessions }
}
