import type { Reason } from '../protocol.ts'

/** Why a session ended before it expired. */
export type RevocationCause =
  | 'sign-out'
  /** The user ended it from another session. */
  | 'revoked'
  | 'revoked-by-admin'
  /** The same browser signed in again. */
  | 'replaced'
  /** The user had as many sessions as allowed and began another. */
  | 'evicted'
  | 'password-changed'
  | 'password-reset'
  /** A link in an email changed the address, and was opened without the session's current cookie. */
  | 'email-changed'
  | 'user-deleted'
  /** A session token was used again after it had been rotated out, so it was copied. */
  | 'token-replayed'
  /** The owner of the former address undid a change of the email. */
  | 'email-change-undone'
  /** The user added or removed a second factor or a way to sign in, and ended the other sessions. */
  | 'factor-changed'
  /** An admin removed the user's second factors. */
  | 'factors-reset'

/** Why the credentials of a session were replaced. */
export type VersionCause =
  | 'password-changed'
  | 'reauthenticated'
  | 'copies-revoked'
  | 'email-changed'
  | 'factor-added'
  | 'factor-removed'

/** The request that caused an event. Endpoints fill it in; absent if the app's own code made the change. */
export interface EventRequest {
  /** The client's address; null if unknown. */
  readonly address?: string | null
  /** At most 512 characters. The client can send any text. */
  readonly userAgent?: string | null
  /** The session that made the call; null for a call without one, such as a sign-in. */
  readonly actingSessionId?: string | null
}

/** An attempt, perhaps without an account. */
export interface AttemptEvent extends EventRequest {
  readonly at: Date
  readonly userId: string | null
}

/** An event of a session. */
export interface SessionEvent extends AttemptEvent {
  readonly userId: string
  readonly sessionId: string
}

/** An event of a user. */
export interface UserEvent extends AttemptEvent {
  readonly userId: string
  /** The admin who did it, or `cli`; null for the user, or the app's own code. */
  readonly actorId: string | null
}

/** `userId` is the user whose data the admin requested; null for all users. */
export interface AdminRead extends AttemptEvent {
  readonly actorId: string
}

/** Further values of an event. */
export type EventDetail = Readonly<Record<string, string | number | boolean | null>>

/** A ban. */
export interface BanTerms {
  readonly reason: string | null
  /** ISO 8601; null is permanent. */
  readonly expiresAt: string | null
}

/** A change made by a plugin. If it names a user, that user's live streams validate their session again. */
export interface PluginEvent extends AttemptEvent {
  /** The id of the plugin and what happened, such as `organization:member-removed`. */
  readonly type: `${string}:${string}`
  /** The user who did it; null for `userId`, or the app's own code. */
  readonly actorId: string | null
  readonly detail?: EventDetail
}

/**
 * What happens to sessions and users. Each is written to `sallyport.audit` in the transaction of its change,
 * except `decision.denied`, `email-password:check-skipped`, `session.refreshed` if nothing changed, and
 * `sign-in.failed` after too many attempts.
 */
export type AuthEvent =
  | PluginEvent
  | (SessionEvent & {
      readonly type: 'session.created'
      readonly address: string | null
      readonly userAgent: string | null
      /**
       * Whether the account knew the browser. Null without a plugin that remembers browsers, for the app's
       * own code, for anonymous users, and with the session header.
       */
      readonly knownDevice: boolean | null
    })
  /** A new JWT was issued; `renewed` if the session was extended too. */
  | (SessionEvent & { readonly type: 'session.refreshed'; readonly renewed: boolean })
  | (SessionEvent & {
      readonly type: 'session.revoked'
      readonly cause: RevocationCause
      readonly actorId: string | null
    })
  /** The session has new credentials. Every copy of the older ones has stopped working. */
  | (SessionEvent & {
      readonly type: 'session.version-changed'
      readonly cause: VersionCause
      readonly version: number
    })
  /** The row of an expired session was removed. */
  | (SessionEvent & { readonly type: 'session.expired' })
  | (UserEvent & {
      readonly type: 'user.banned'
      readonly reason: string | null
      readonly expiresAt: Date | null
      /** The ban that this one replaces. */
      readonly from: BanTerms | null
    })
  /** `from` is the ban that was lifted. */
  | (UserEvent & { readonly type: 'user.unbanned'; readonly from: BanTerms | null })
  /** `verification.requested`: the user requested a verification link. */
  | (UserEvent & {
      readonly type: 'user.created' | 'user.deleted' | 'user.password-changed' | 'verification.requested'
    })
  /** An admin removed the user's second factors. */
  | (UserEvent & { readonly type: 'user.factors-reset'; readonly reason: string })
  | (UserEvent & { readonly type: 'user.role-changed'; readonly from: string; readonly to: string })
  /** The user changed their profile. `from` and `to` have the columns that changed. */
  | (UserEvent & { readonly type: 'user.updated'; readonly from: EventDetail; readonly to: EventDetail })
  /** The user proved that they receive the mail of this address. */
  | (UserEvent & { readonly type: 'user.verified'; readonly email: string })
  | (UserEvent & {
      readonly type: 'user.email-change-requested' | 'user.email-changed'
      readonly from: string
      readonly to: string
    })
  /** The link in the notice to the former address was used. */
  | (UserEvent & {
      readonly type: 'user.email-change-undone'
      readonly from: string
      readonly to: string
      /** Plugins have removed the ways to sign in and the factors that were added since. */
      readonly addedSince: Date
    })
  /** A link to set a new password was requested. `userId` is null if no account has that email. */
  | (AttemptEvent & { readonly type: 'recovery.requested' })
  /** Too many attempts. Recorded once per key and window. `userId` is the user of the acting session. */
  | (AttemptEvent & {
      readonly type: 'rate-limit.rejected'
      /** The first part of the key, such as `sign-in` or `address`. */
      readonly limit: string
      /** `sha256:<hex>` of the whole key: rows with the same hash are about the same account or network. */
      readonly keyHash: string
    })
  /** Authentication failed. `userId` is null if no account has that email. */
  | (AttemptEvent & {
      readonly type: 'sign-in.failed'
      readonly reason: 'INVALID_CREDENTIALS' | 'CODE_INVALID' | 'ACCOUNT_BANNED' | 'RATE_LIMITED'
      readonly address: string | null
    })
  /** An admin listed users. Recorded once per session and search in 5 minutes. */
  | (AdminRead & { readonly type: 'admin.users-listed'; readonly search: string | null })
  | (AdminRead & { readonly type: 'admin.sessions-listed' | 'admin.factors-listed' })
  | (AdminRead & { readonly type: 'admin.audit-read'; readonly filter: EventDetail })
  /** Step 1 or Step 2 rejected a request. */
  | {
      readonly type: 'decision.denied'
      readonly at: Date
      readonly reason: Reason
      /** 1 is the JWT, 2 the session. */
      readonly step: 1 | 2
      /** `sha256:<hex>` of the session id; null without an identity. */
      readonly sessionIdHash: string | null
      /** Milliseconds from the start of the step. */
      readonly durationMs: number
    }

export type AuthEventType = AuthEvent['type']

/** Called with every event, after its change has committed. May return a promise. */
export type EventListener = (event: AuthEvent) => unknown

/** An email change was undone: plugins remove what was added to the account since `addedSince`. */
export type UndoneChange = Extract<AuthEvent, { readonly type: 'user.email-change-undone' }>
