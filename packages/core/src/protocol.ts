/** Paths, headers, limits, reasons, and responses, shared by client and server. Imports nothing. */

/** The path of all auth endpoints (spec section 4). */
export const AUTH_PATH = '/api/auth'

/** The method and path of every endpoint, relative to `AUTH_PATH` (spec section 4). */
export const ENDPOINTS = {
  signOut: { method: 'POST', path: '/sign-out' },
  token: { method: 'GET', path: '/backend/token' },
  jwks: { method: 'GET', path: '/jwks' },
  getSession: { method: 'GET', path: '/session' },
  listSessions: { method: 'GET', path: '/sessions' },
  revokeSession: { method: 'POST', path: '/revoke-session' },
  revokeOtherSessions: { method: 'POST', path: '/revoke-other-sessions' },
  revokeSessions: { method: 'POST', path: '/revoke-sessions' },
  revokeCopies: { method: 'POST', path: '/revoke-copies' },
  updateUser: { method: 'POST', path: '/update-user' },
  deleteUser: { method: 'POST', path: '/delete-user' },
  signUpEmail: { method: 'POST', path: '/sign-up/email' },
  signInEmail: { method: 'POST', path: '/sign-in/email' },
  reauthenticate: { method: 'POST', path: '/reauthenticate' },
  changePassword: { method: 'POST', path: '/change-password' },
  requestPasswordReset: { method: 'POST', path: '/request-password-reset' },
  resetPassword: { method: 'POST', path: '/reset-password' },
  sendVerificationEmail: { method: 'POST', path: '/send-verification-email' },
  verifyEmail: { method: 'POST', path: '/verify-email' },
  changeEmail: { method: 'POST', path: '/change-email' },
  undoEmailChange: { method: 'POST', path: '/undo-email-change' },
  getUsername: { method: 'GET', path: '/get-username' },
  changeUsername: { method: 'POST', path: '/change-username' },
  signInTotp: { method: 'POST', path: '/sign-in/totp' },
  reauthenticateTotp: { method: 'POST', path: '/reauthenticate-totp' },
  getTotp: { method: 'GET', path: '/get-totp' },
  enableTotp: { method: 'POST', path: '/enable-totp' },
  confirmTotp: { method: 'POST', path: '/confirm-totp' },
  disableTotp: { method: 'POST', path: '/disable-totp' },
  createRecoveryCodes: { method: 'POST', path: '/create-recovery-codes' },
  createPasskeySignInOptions: { method: 'POST', path: '/create-passkey-sign-in-options' },
  signInPasskey: { method: 'POST', path: '/sign-in/passkey' },
  createPasskeyReauthenticationOptions: { method: 'POST', path: '/create-passkey-reauthentication-options' },
  reauthenticatePasskey: { method: 'POST', path: '/reauthenticate-passkey' },
  createPasskeyOptions: { method: 'POST', path: '/create-passkey-options' },
  addPasskey: { method: 'POST', path: '/add-passkey' },
  listPasskeys: { method: 'GET', path: '/list-passkeys' },
  renamePasskey: { method: 'POST', path: '/rename-passkey' },
  removePasskey: { method: 'POST', path: '/remove-passkey' },
  requestEmailCode: { method: 'POST', path: '/request-email-code' },
  signInEmailCode: { method: 'POST', path: '/sign-in/email-code' },
  reauthenticateEmailCode: { method: 'POST', path: '/reauthenticate-email-code' },
  signInAnonymous: { method: 'POST', path: '/sign-in/anonymous' },
  reauthenticateAnonymous: { method: 'POST', path: '/reauthenticate-anonymous' },
  upgradeAnonymous: { method: 'POST', path: '/upgrade-anonymous' },
  signInOauth: { method: 'POST', path: '/sign-in/oauth' },
  signInOauthCode: { method: 'POST', path: '/sign-in/oauth-code' },
  reauthenticateOauth: { method: 'POST', path: '/reauthenticate-oauth' },
  reauthenticateOauthCode: { method: 'POST', path: '/reauthenticate-oauth-code' },
  linkAccount: { method: 'POST', path: '/link-account' },
  listAccounts: { method: 'GET', path: '/list-accounts' },
  unlinkAccount: { method: 'POST', path: '/unlink-account' },
  listUsers: { method: 'GET', path: '/admin/list-users' },
  listUserSessions: { method: 'GET', path: '/admin/list-user-sessions' },
  listUserFactors: { method: 'GET', path: '/admin/list-user-factors' },
  listAudit: { method: 'GET', path: '/admin/list-audit' },
  revokeUserSession: { method: 'POST', path: '/admin/revoke-user-session' },
  revokeUserSessions: { method: 'POST', path: '/admin/revoke-user-sessions' },
  banUser: { method: 'POST', path: '/admin/ban-user' },
  unbanUser: { method: 'POST', path: '/admin/unban-user' },
  setRole: { method: 'POST', path: '/admin/set-role' },
  resetUserFactors: { method: 'POST', path: '/admin/reset-user-factors' },
  createOrganization: { method: 'POST', path: '/organization/create' },
  listOrganizations: { method: 'GET', path: '/organization/list' },
  updateOrganization: { method: 'POST', path: '/organization/update' },
  deleteOrganization: { method: 'POST', path: '/organization/delete' },
  setActiveOrganization: { method: 'POST', path: '/organization/set-active' },
  inviteMember: { method: 'POST', path: '/organization/invite-member' },
  acceptInvitation: { method: 'POST', path: '/organization/accept-invitation' },
  cancelInvitation: { method: 'POST', path: '/organization/cancel-invitation' },
  listInvitations: { method: 'GET', path: '/organization/list-invitations' },
  listMembers: { method: 'GET', path: '/organization/list-members' },
  setMemberRole: { method: 'POST', path: '/organization/set-member-role' },
  removeMember: { method: 'POST', path: '/organization/remove-member' },
} as const
ENDPOINTS satisfies Record<string, Route>

export interface Route {
  readonly method: 'GET' | 'POST'
  /** Relative to `/api/auth`. */
  readonly path: `/${string}`
}

/**
 * Programs send `x-sallyport: 1`, which a cross-site form or image can't. A page whose WebSocket didn't open
 * sends its origin instead, and gets 403 `ORIGIN_REJECTED` if upgrades from that origin are rejected.
 */
export const CLIENT_HEADER = 'x-sallyport'

/**
 * Replaces the session cookie if bearer transport is enabled: `<sessionId>.<secret>`, or {@link NO_SESSION}.
 * The request's cookies are ignored, and the response has the tokens in its body.
 */
export const SESSION_HEADER = 'x-sallyport-session'

/** The value of `SESSION_HEADER` for a program that isn't signed in. */
export const NO_SESSION = 'none'

/** The default prefix of cookie names. */
export const COOKIE_PREFIX = 'service'

/** The default lifetime of a JWT (spec section 8). */
export const JWT_LIFETIME_SECONDS: number = 15 * 60

/** The default lifetime of a session (spec section 8). */
export const SESSION_LIFETIME_SECONDS: number = 30 * 24 * 60 * 60

/** How long the secret and version before a rotation stay valid for requests in flight. */
export const GRACE_SECONDS = 30

/** The client refreshes a JWT this long before it expires. The server allows no leeway (spec section 8). */
export const CLIENT_LEEWAY_SECONDS = 60

/** The maximum number of calls in one HTTP batch. Over WebSocket, each call of a frame is limited alone. */
export const MAX_BATCH_SIZE = 20

/** The maximum size of a WebSocket message or the body of an auth request. */
export const MAX_PAYLOAD_BYTES: number = 64 * 1024

/** Close codes of WebSockets: 4000 plus an HTTP status, from the range that is free for applications. */
export const BANNED_CODE = 4403
export const CREDENTIALS_REPLACED_CODE = 4401

/**
 * Why a request was rejected: a closed list, with HTTP status, tRPC code, and message. Only a `SESSION_*`
 * reason signs a client out (`docs/errors.md`).
 */
export const REASONS = {
  TOKEN_MISSING: { status: 401, code: 'UNAUTHORIZED', message: 'No token was sent. Sign in first.' },
  TOKEN_EXPIRED: { status: 401, code: 'UNAUTHORIZED', message: 'The token has expired. Refresh it.' },
  TOKEN_INVALID: { status: 401, code: 'UNAUTHORIZED', message: 'The token is not valid. Refresh it.' },
  SESSION_NOT_FOUND: { status: 401, code: 'UNAUTHORIZED', message: 'The session has ended. Sign in again.' },
  SESSION_EXPIRED: { status: 401, code: 'UNAUTHORIZED', message: 'The session has expired. Sign in again.' },
  COOKIE_CONFLICT: {
    status: 401,
    code: 'UNAUTHORIZED',
    message: 'Two cookies have the same name. Delete the cookies of this site and its parent domain.',
  },
  ACCOUNT_BANNED: { status: 403, code: 'FORBIDDEN', message: 'Account banned' },
  ROLE_REQUIRED: { status: 403, code: 'FORBIDDEN', message: 'Your role does not allow this. Ask an admin.' },
  SESSION_NOT_FRESH: { status: 403, code: 'FORBIDDEN', message: 'Confirm that it is you, and try again.' },
  FACTOR_REQUIRED: { status: 403, code: 'FORBIDDEN', message: 'Confirm with your second factor.' },
  ORIGIN_REJECTED: {
    status: 403,
    code: 'FORBIDDEN',
    message: 'This origin is neither that of baseUrl nor in allowedOrigins. Programs send x-sallyport: 1.',
  },
  SECRET_SUPERSEDED: {
    status: 409,
    code: 'CONFLICT',
    message: 'This session has new credentials. Reload the page or sign in.',
  },
  RATE_LIMITED: { status: 429, code: 'TOO_MANY_REQUESTS', message: 'Too many attempts. Try again later.' },
  SESSIONS_UNAVAILABLE: {
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'Sessions cannot be checked right now. Try again later.',
  },
  KEYS_UNAVAILABLE: {
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'Tokens cannot be checked right now. Try again later.',
  },
} as const
REASONS satisfies Record<string, { status: number; code: string; message: string }>

export type Reason = keyof typeof REASONS

/** A second factor that a procedure can require. `any-second` is a passkey, a TOTP, or a recovery code. */
export type Factor = 'passkey' | 'totp' | 'any-second'

/** What satisfies a guard that rejected with `SESSION_NOT_FRESH` or `FACTOR_REQUIRED`. */
export interface RequiredProof {
  /** Null if the user may prove who they are by any method. */
  readonly factor: Factor | null
  /** The maximum age of the proof; null if any age is fine. */
  readonly maxAgeSeconds: number | null
}

/** A sign-in that a second factor must complete, in the response with `FACTOR_REQUIRED`. */
export interface SignInChallenge {
  /** Send it with the proof, such as to `signInTotp`. */
  readonly token: string
  /** The methods that complete the sign-in, such as `otp`. */
  readonly methods: readonly string[]
  readonly expiresIn: number
}

/** Returns whether a reason is about the JWT, so another JWT could be valid. */
export function isTokenReason(reason: string): boolean {
  return /^TOKEN_/.test(reason)
}

/** Returns whether the session has ended. From the token endpoint, this signs the client out. */
export function isSessionOver(reason: string): boolean {
  return /^SESSION_(NOT_FOUND|EXPIRED)$/.test(reason)
}

/**
 * Returns the pause after failures in a row, in milliseconds: doubled each time up to `maxMs`, half of it
 * random, so clients don't all retry at once. `atLeastMs` is what the server requested.
 */
export function backOff(
  failures: number,
  { minMs, maxMs, atLeastMs = 0 }: { minMs: number; maxMs: number; atLeastMs?: number },
): number {
  const half = Math.min(minMs * 2 ** (failures - 1), maxMs) / 2
  return Math.max(half, atLeastMs) + half * Math.random()
}

/** The response of `GET /api/auth/backend/token`, sign-in, and sign-up. */
export interface TokenResponse {
  /** Seconds until the JWT expires. Measure from receipt; never compare two clocks. */
  expiresIn: number
  expiresAt: string
  userId: string
  sessionId: string
  /** The JWT; only if the request had `x-sallyport-session`. */
  token?: string
  /** A new value of `x-sallyport-session`; only if the request had that header. */
  sessionToken?: string
}

export interface SuccessResponse {
  success: true
}

/** Has tokens if the request had the current session cookie and completed an email change. */
export interface VerifyEmailResponse extends SuccessResponse, Partial<TokenResponse> {}

/** A user, as they see themselves. Plugins can add members. */
export interface UserResponse {
  id: string
  name: string
  email: string
  emailVerified: boolean
  image: string | null
  role: string
  /** ISO 8601 in UTC, like all dates here. */
  createdAt: string
}

/** A user, as an admin sees them. */
export interface AdminUserResponse extends UserResponse {
  banned: boolean
  banReason: string | null
  /** Null for a ban without an end. */
  banExpires: string | null
}

export interface AuditRecordResponse {
  id: string
  /** The name of the event, such as `session.revoked`. */
  type: string
  userId: string | null
  sessionId: string | null
  /** The admin, or the member of an organization, who did it; `cli`; null for the user, or the app's code. */
  actorId: string | null
  actingSessionId: string | null
  address: string | null
  /** The client's `User-Agent`: any text. */
  userAgent: string | null
  detail: Record<string, unknown>
  createdAt: string
}

export interface SessionResponse {
  id: string
  createdAt: string
  /** When it began or was last refreshed, to the minute. */
  lastSeenAt: string
  lastAuthenticatedAt: string
  expiresAt: string
  /** How the user proved who they are (RFC 8176), such as `pwd` and `otp`. */
  amr: string[]
  address: string | null
  /** Such as `Firefox on macOS`; null if unknown. */
  device: string | null
  /** Whether it is the session of the caller. */
  current: boolean
}

export interface CurrentSessionResponse {
  session: SessionResponse
  user: UserResponse
}

/** An organization, as one of its members sees it. */
export interface OrganizationResponse {
  id: string
  name: string
  /** Its unique name in a URL. */
  slug: string
  /** The caller's role: `owner`, `admin`, `member`, or a role of the app. */
  role: string
  createdAt: string
}

export interface ActiveOrganizationResponse {
  activeOrganizationId: string | null
  activeOrganizationRole: string | null
}

export interface MemberResponse {
  userId: string
  name: string
  email: string
  image: string | null
  role: string
  createdAt: string
}

/** A pending invitation. Only its recipient gets its token. */
export interface InvitationResponse {
  id: string
  /** Only the account with this email can accept it. */
  email: string
  role: string
  /** The member who made it. */
  inviterId: string
  createdAt: string
  expiresAt: string
}

/** The response of an auth endpoint that rejects a request. */
export interface ErrorResponse {
  code: string
  message: string
  /** The invalid fields, with `INVALID_INPUT`. */
  fields?: readonly string[]
  /** Seconds to wait before another attempt, with 429 and 503. */
  retryAfterSeconds?: number
  /** With `FACTOR_REQUIRED` at a sign-in. */
  challenge?: SignInChallenge
  /** What satisfies the endpoint, with `SESSION_NOT_FRESH` and `FACTOR_REQUIRED`, but not at a sign-in. */
  required?: RequiredProof
}

/** Why a guard rejected a procedure call: `error.data.auth`, if the app's error formatter adds it. */
export interface AuthErrorData {
  readonly reason: Reason
  /** Seconds to wait before another attempt; null if waiting doesn't help. */
  readonly retryAfterSeconds: number | null
  /** True only if the guard rejected before the resolver ran, so the call can be sent again. */
  readonly replay: boolean
  /** Only with `SESSION_NOT_FRESH` and `FACTOR_REQUIRED`. */
  readonly required?: RequiredProof
}

/** Why an auth endpoint rejected: `error.data.endpoint`, if the app's error formatter adds it. */
export interface EndpointErrorData {
  /** Such as `INVITATION_INVALID`. */
  readonly code: string
  /** The invalid fields, with `INVALID_INPUT`. */
  readonly fields: readonly string[]
}

/** The auth state that a page rendered on the server passes to its client. */
export type HydrationState =
  | {
      readonly status: 'authenticated'
      readonly userId: string
      readonly sessionId: string
      /** Seconds until the JWT expires. */
      readonly expiresIn: number
    }
  | { readonly status: 'unauthenticated' }
  /** The database was down, for example, or the user is banned, which the page can show without a script. */
  | { readonly status: 'unknown'; readonly reason?: 'ACCOUNT_BANNED' }
