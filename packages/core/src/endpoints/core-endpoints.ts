import type { SessionColumns, UserColumns } from './declared-columns.ts'
import type { AuthPlugin } from './definition.ts'
import { jwks } from './jwks.ts'
import * as ownSessions from './own-sessions.ts'
import { type OwnUserEndpoints, ownUserEndpoints } from './own-user.ts'
import { signOut } from './sign-out.ts'
import { token } from './token.ts'

/** The endpoints of every app, with the columns that plugins add. */
export type CoreEndpoints<OfUser = unknown, OfSession = unknown, OfInput = unknown> = typeof ownSessions &
  OwnUserEndpoints<OfUser, OfSession, OfInput> & {
    readonly signOut: typeof signOut
    readonly token: typeof token
    readonly jwks: typeof jwks
  }

/** Creates the endpoints of every app, with the columns of its plugins. */
export function coreEndpoints(plugins: readonly AuthPlugin[]): CoreEndpoints {
  const columns: UserColumns = Object.assign({}, ...plugins.map(({ userColumns }) => userColumns))
  const sessionColumns: SessionColumns = Object.assign({}, ...plugins.map(({ sessionColumns: own }) => own))
  return { signOut, token, jwks, ...ownUserEndpoints(columns, sessionColumns), ...ownSessions }
}
