/**
 * What both sides of the wire agree on: paths, the header, the prefix of the cookies, lifetimes, limits and the closed list of
 * reasons.
 * Safe in a browser: it imports nothing.
 */

/** Every auth endpoint lives under this path (spec section 4). */
export const AUTH_PATH = '/api/auth'

/** Method and path of every endpoint, the path relative to {@link AUTH_PATH} (spec section 4). */
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
  listUsers: { method: 'GET', path: '/admin/list-users' },
  listUserSessions: { method: 'GET', path: '/admin/list-user-sessions' },
  listAudit: { method: 'GET', path: '/admin/list-audit' },
  revokeUserSession: { method: 'POST', path: '/admin/revoke-user-session' },
  revokeUserSessions: { method: 'POST', path: '/admin/revoke-user-sessions' },
  banUser: { method: 'POST', path: '/admin/ban-user' },
  unbanUser: { method: 'POST', path: '/admin/unban-user' },
  setRole: { method: 'POST', path: '/admin/set-role' },
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

/** Where an endpoint is reached. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** Relative to {@link AUTH_PATH}. */
  readonly path: `/${string}`
}

/**
 * A caller that is not a browser sends `x-sallyport: 1`; a cross-site form or image cannot. A page whose
 * WebSocket did not open sends its origin instead, and gets 403 `ORIGIN_REJECTED` if the upgrade of that
 * origin is rejected.
 */
export const CLIENT_HEADER = 'x-sallyport'

/**
 * Where bearer transport is enabled, this header stands for the session cookie: `<sessionId>.<secret>`, or {@link NO_SESSION} where there is
 * no session yet. The cookies of such a request count for nothing, its answer sets none, and a session cookie that would have been set
 * stands in {@link TokenResponse.sessionToken}.
 */
export const SESSION_HEADER = 'x-sallyport-session'

/** The value of {@link SESSION_HEADER} of a program that is not signed in. */
export const NO_SESSION = 'none'

/** Cookie names start with this unless the configuration says otherwise. */
export const COOKIE_PREFIX = 'service'

/** Lifetime of a JWT, in seconds (spec section 8). */
export const JWT_LIFETIME_SECONDS: number = 15 * 60

/** Lifetime of a session, in seconds (spec section 8). */
export const SESSION_LIFETIME_SECONDS: number = 30 * 24 * 60 * 60

/**
 * How long the secret and version before a rotation stay valid, in seconds: requests with them may be in
 * flight.
 */
export const GRACE_SECONDS = 30

/** The client refreshes a JWT this long before it expires, in seconds. The server allows no leeway (spec section 8). */
export const CLIENT_LEEWAY_SECONDS = 60

/** Most calls in one batch or one WebSocket frame. */
export const MAX_BATCH_SIZE = 20

/** Most bytes in one WebSocket message or one auth request body. */
export const MAX_PAYLOAD_BYTES: number = 64 * 1024

/**
 * Why a request was refused: the closed list, with the HTTP status, the tRPC code and the text a person may read.
 * Only a `SESSION_*` reason signs a client out (spec sections 3 and 7).
 */
export const REASONS = {
  TOKEN_MISSING: { status: 401, code: 'UNAUTHORIZED', message: 'No token was sent' },
  TOKEN_EXPIRED: { status: 401, code: 'UNAUTHORIZED', message: 'The token has expired' },
  TOKEN_INVALID: { status: 401, code: 'UNAUTHORIZED', message: 'The token is not valid' },
  SESSION_NOT_FOUND: { status: 401, code: 'UNAUTHORIZED', message: 'The session has ended' },
  SESSION_EXPIRED: { status: 401, code: 'UNAUTHORIZED', message: 'The session has expired' },
  COOKIE_CONFLICT: {
    status: 401,
    code: 'UNAUTHORIZED',
    message:
      'Two cookies of the same name were sent: delete the cookies of this site and of its parent domain',
  },
  ACCOUNT_BANNED: { status: 403, code: 'FORBIDDEN', message: 'Account banned' },
  ROLE_REQUIRED: { status: 403, code: 'FORBIDDEN', message: 'Your role does not allow this' },
  SESSION_NOT_FRESH: { status: 403, code: 'FORBIDDEN', message: 'Confirm that it is you and try again' },
  ORIGIN_REJECTED: {
    status: 403,
    code: 'FORBIDDEN',
    message: 'This origin is not allowed. Programs send x-sallyport: 1.',
  },
  SECRET_SUPERSEDED: {
    status: 409,
    code: 'CONFLICT',
    message: 'This session has new credentials. Reload the page or sign in.',
  },
  RATE_LIMITED: { status: 429, code: 'TOO_MANY_REQUESTS', message: 'Too many attempts' },
  SESSIONS_UNAVAILABLE: {
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'Sessions cannot be checked right now',
  },
  KEYS_UNAVAILABLE: {
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'Tokens cannot be checked right now',
  },
} as const
REASONS satisfies Record<string, { status: number; code: string; message: string }>

/** One member of {@link REASONS}. */
export type Reason = keyof typeof REASONS

/** Whether a reason is about the JWT, so that another one may be let in. */
export function isTokenReason(reason: string): boolean {
  return /^TOKEN_/.test(reason)
}

/** Whether a reason says for certain that the session has ended. With 401 it signs out whom the token endpoint tells it; nothing else does. */
export function isSessionOver(reason: string): boolean {
  return /^SESSION_(NOT_FOUND|EXPIRED)$/.test(reason)
}

/** What `GET /api/auth/backend/token`, sign-in and sign-up answer. */
export interface TokenResponse {
  /** Seconds until the JWT expires, computed by the server: measure from the receipt, never compare two clocks. */
  expiresIn: number
  /** The same moment as an ISO 8601 string in UTC. */
  expiresAt: string
  userId: string
  sessionId: string
  /** The JWT itself; only in the answer to a request that carried {@link SESSION_HEADER}. */
  token?: string
  /** The next value of {@link SESSION_HEADER}, where it is new; only in the answer to a request that carried that header. */
  sessionToken?: string
}

/** What an endpoint answers that has nothing to tell but that it is done. */
export interface SuccessResponse {
  success: true
}

/**
 * The response of `POST /verify-email`. The members of {@link TokenResponse} are present when an email change
 * was completed with the current session cookie, which then gets new credentials.
 */
export interface VerifyEmailResponse extends SuccessResponse, Partial<TokenResponse> {}

/** A person, as they see themselves. Plugins may add members. */
export interface UserResponse {
  id: string
  name: string
  email: string
  emailVerified: boolean
  image: string | null
  role: string
  /** ISO 8601 in UTC, like every moment here. */
  createdAt: string
}

/** A user, as an admin sees them. */
export interface AdminUserResponse extends UserResponse {
  banned: boolean
  banReason: string | null
  /** Null is for ever. */
  banExpires: string | null
}

/** A record of the audit trail. */
export interface AuditRecordResponse {
  id: string
  /** The name of the event, such as `session.revoked`. */
  type: string
  /** Whom it happened to. */
  userId: string | null
  sessionId: string | null
  /** The admin who did it. */
  actorId: string | null
  /** The session that made the call. */
  actingSessionId: string | null
  /** The client's address. */
  address: string | null
  /** The client's `User-Agent`: any text. */
  userAgent: string | null
  /** The other members of the event. */
  detail: Record<string, unknown>
  createdAt: string
}

/** A session in a list. */
export interface SessionResponse {
  id: string
  createdAt: string
  /** When a JWT was last issued for it, to the minute. */
  lastSeenAt: string
  lastAuthenticatedAt: string
  expiresAt: string
  address: string | null
  /** Such as `Firefox on macOS`; null where the browser did not say. */
  device: string | null
  /** Whether it is the one that asks. */
  current: boolean
}

/** What `GET /session` answers. */
export interface CurrentSessionResponse {
  session: SessionResponse
  user: UserResponse
}

/** An organization, as one of its members sees it. */
export interface OrganizationResponse {
  id: string
  name: string
  /** Its name in a URL; no other organization has it. */
  slug: string
  /** What the caller is in it: `owner`, `admin`, `member`, or a role of the app's own. */
  role: string
  createdAt: string
}

/** The organization that a session works in; both are null where there is none. */
export interface ActiveOrganizationResponse {
  activeOrganizationId: string | null
  activeOrganizationRole: string | null
}

/** A member of an organization, as the other members see them. */
export interface MemberResponse {
  userId: string
  name: string
  email: string
  image: string | null
  role: string
  /** When they became one. */
  createdAt: string
}

/** An invitation that is still open; its token is told to nobody but its recipient. */
export interface InvitationResponse {
  id: string
  /** Whose account has this email may accept it. */
  email: string
  role: string
  /** The member who made it. */
  inviterId: string
  createdAt: string
  expiresAt: string
}

/** What every auth endpoint answers when it refuses. */
export interface ErrorResponse {
  code: string
  message: string
  /** Names of the fields at fault, with `INVALID_INPUT`. */
  fields?: readonly string[]
  /** Seconds to wait before another attempt; with 429 and 503. */
  retryAfterSeconds?: number
}

/** Why a procedure was refused, and what the client may do about it: `error.data.auth` where the app's error formatter adds it. */
export interface AuthErrorData {
  readonly reason: Reason
  /** Seconds to wait before another attempt; null where waiting does not help. */
  readonly retryAfterSeconds: number | null
  /** True only when a guard refused before the resolver ran: the call has changed nothing and may be sent again. */
  readonly replay: boolean
}

/** What an auth endpoint refused that a resolver called: `error.data.endpoint` where the app's error formatter adds it. */
export interface EndpointErrorData {
  /** Such as `INVITATION_INVALID`. */
  readonly code: string
  /** Names of the fields at fault, with `INVALID_INPUT`. */
  readonly fields: readonly string[]
}

/** What a page rendered on the server tells its client. */
export type HydrationState =
  | {
      readonly status: 'authenticated'
      readonly userId: string
      readonly sessionId: string
      /** Seconds left of the JWT, computed by the server. */
      readonly expiresIn: number
    }
  | { readonly status: 'unauthenticated' }
  /** The server couldn't decide, such as while the database was down, or the user is banned. */
  | {
      readonly status: 'unknown'
      /** Lets the page say "Account banned" in its markup, before any script runs. */
      readonly reason?: 'ACCOUNT_BANNED'
    }
