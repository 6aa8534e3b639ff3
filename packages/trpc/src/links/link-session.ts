import type { ClientSession } from '../client/client-session.ts'

/** The part of a client's session that links use. */
export interface LinkSession
  extends Pick<
    ClientSession,
    | 'get'
    | 'dispatch'
    | 'getState'
    | 'subscribe'
    | 'server'
    | 'tokens'
    | 'fetchEndpoint'
    | 'refreshIfDue'
    | 'refreshAfter'
    | 'isSuperseded'
    | 'report'
  > {
  /** After a sign-in or sign-out, resolves when the client knows the user. Calls belong to that user. */
  settling?(): Promise<void> | undefined
}
