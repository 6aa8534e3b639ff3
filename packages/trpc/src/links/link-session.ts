import type { ClientSession } from '../client/client-session.ts'

/** The part of a client's session that links use. */
export type LinkSession = Pick<
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
>
