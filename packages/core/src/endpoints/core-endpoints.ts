import type { SessionColumns, UserColumns } from './declared-columns.ts'
import type { AuthPlugin } from './definition.ts'
import { jwks } from './jwks.ts'
import {
  listSessions,
  revokeCopies,
  revokeOtherSessions,
  revokeOwnSession,
  revokeOwnSessions,
} from './own-sessions.ts'
import { type OwnUserEndpoints, ownUserEndpoints } from './own-user.ts'
import { signOut } from './sign-out.ts'
import { token } from './token.ts'

/** The endpoints of every app. */
export interface CoreEndpoints extends OwnUserEndpoints {
  readonly signOut: typeof signOut
  readonly token: typeof token
  readonly jwks: typeof jwks
  readonly listSessions: typeof listSessions
  readonly revokeSession: typeof revokeOwnSession
  readonly revokeOtherSessions: typeof revokeOtherSessions
  readonly revokeSessions: typeof revokeOwnSessions
  readonly revokeCopies: typeof revokeCopies
}

/** Creates the endpoints of every app, with the columns of its plugins. */
export function coreEndpoints(plugins: readonly AuthPlugin[]): CoreEndpoints {
  const columns: UserColumns = Object.assign({}, ...plugins.map(({ userColumns }) => userColumns))
  const sessionColumns: SessionColumns = Object.assign({}, ...plugins.map(({ sessionColumns: own }) => own))
  return {
    signOut,
    token,
    jwks,
    ...ownUserEndpoints(columns, sessionColumns),
    listSessions,
    revokeSession: revokeOwnSession,
    revokeOtherSessions,
    revokeSessions: revokeOwnSessions,
    revokeCopies,
  }
}
