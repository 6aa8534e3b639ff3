import type { ClientSession } from '../client/client-session.ts'

/** The part of a client's session that links use. */
export interface LinkSession
  extends Pick<
    ClientSession,
    | 'get'
    | 'getState'
    | 'subscribe'
    | 'server'
    | 'tokens'
    | 'send'
    | 'refreshDue'
    | 'refreshAfter'
    | 'isSuperseded'
    | 'report'
  > {
  /** Starts a call once the client knows its user. Returns a function that cancels it. */
  start?(call: () => () => void): () => void
}
