/**
 * A row of the scenario matrix: the state of a browser, the response to a call, and the effect for the user.
 */
export interface Scenario {
  /** For URLs. */
  readonly name: ScenarioName
  readonly title: string
  readonly jwt: string
  readonly session: string
  readonly result: string
  readonly experience: Experience
}

export type ScenarioName =
  | 'normal'
  | 'signed-out'
  | 'revoked'
  | 'jwt-expired'
  | 'both-expired'
  | 'session-expired'
  | 'banned'

export type Experience =
  | 'Access granted'
  | 'Transparent'
  | 'Redirected to login'
  | 'Logged out on next request'
  | 'Account banned message'

/** The seven states that a browser can be in. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'normal',
    title: 'Normal',
    jwt: 'valid',
    session: 'valid',
    result: '200',
    experience: 'Access granted',
  },
  {
    name: 'signed-out',
    title: 'User signs out',
    jwt: 'deleted',
    session: 'deleted',
    result: '401',
    experience: 'Redirected to login',
  },
  {
    name: 'revoked',
    title: 'Admin revokes session',
    jwt: 'valid',
    session: 'deleted',
    result: '401',
    experience: 'Logged out on next request',
  },
  {
    name: 'jwt-expired',
    title: 'JWT expired, session valid',
    jwt: 'expired',
    session: 'valid',
    result: 'auto-refresh then 200',
    experience: 'Transparent',
  },
  {
    name: 'both-expired',
    title: 'JWT expired, session expired',
    jwt: 'expired',
    session: 'expired',
    result: '401',
    experience: 'Redirected to login',
  },
  {
    name: 'session-expired',
    title: 'JWT valid, session expired',
    jwt: 'valid',
    session: 'expired',
    result: '401',
    experience: 'Logged out on next request',
  },
  {
    name: 'banned',
    title: 'User banned',
    jwt: 'valid',
    session: 'valid, banned',
    result: '403',
    experience: 'Account banned message',
  },
]
