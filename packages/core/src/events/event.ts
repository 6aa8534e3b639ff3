import type { Reason } from '../protocol.ts'

/** How a session came to its end before its time. */
export type RevocationCause =
  | 'sign-out'
  /** Its user ended it from another session. */
  | 'revoked'
  | 'revoked-by-admin'
  /** The same browser signed in again. */
  | 'replaced'
  /** The user had as many sessions as allowed and began another. */
  | 'evicted'
  | 'password-changed'
  | 'password-reset'
  | 'user-deleted'
  /** A session token was used again after it had been rotated out: someone has a copy. */
  | 'token-replayed'

interface SessionEvent {
  readonly at: Date
  readonly userId: string
  readonly sessionId: string
}

interface UserEvent {
  readonly at: Date
  readonly userId: string
  /** The admin who did it; null when the user did, or the app's own code. */
  readonly actorId: string | null
}

/**
 * What a plugin records of its own changes, such as `organization:member-removed`. Where it names a user, the live streams of that user ask
 * again.
 */
export interface PluginEvent {
  /** The id of the plugin and what happened, with a colon between them. */
  readonly type: `${string}:${string}`
  readonly at: Date
  /** Whom it concerns. */
  readonly userId: string | null
  /** Who did it; null when the user did, or the app's own code. */
  readonly actorId: string | null
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>
}

/**
 * What happens to sessions and users. All but `decision.denied`, and `session.refreshed` where it moved nothing, are written to the
 * table `audit` in the transaction of the change.
 */
export type AuthEvent =
  | PluginEvent
  | (SessionEvent & {
      readonly type: 'session.created'
      readonly address: string | null
      readonly userAgent: string | null
    })
  /** A new JWT was issued; `renewed` when the session was extended as well. */
  | (SessionEvent & { readonly type: 'session.refreshed'; readonly renewed: boolean })
  | (SessionEvent & {
      readonly type: 'session.revoked'
      readonly cause: RevocationCause
      readonly actorId: string | null
    })
  /** The row of an expired session was removed. */
  | (SessionEvent & { readonly type: 'session.expired' })
  | (UserEvent & {
      readonly type: 'user.banned'
      readonly reason: string | null
      readonly expiresAt: Date | null
    })
  | (UserEvent & { readonly type: 'user.unbanned' })
  | (UserEvent & { readonly type: 'user.created' })
  | (UserEvent & { readonly type: 'user.deleted' })
  | (UserEvent & { readonly type: 'user.role-changed'; readonly role: string })
  | (UserEvent & { readonly type: 'user.email-changed' })
  | (UserEvent & { readonly type: 'user.password-changed' })
  /** Someone failed to prove who they are. `userId` is null where no account has that email. */
  | {
      readonly type: 'sign-in.failed'
      readonly at: Date
      readonly userId: string | null
      readonly reason: 'INVALID_CREDENTIALS' | 'ACCOUNT_BANNED' | 'RATE_LIMITED'
      readonly address: string | null
    }
  /** One of the two doors refused a request. */
  | {
      readonly type: 'decision.denied'
      readonly at: Date
      readonly reason: Reason
      /** 1 is the JWT, 2 the session. */
      readonly step: 1 | 2
      /** `sha256:<hex>` of the session id; null where none was proved. */
      readonly sessionIdHash: string | null
      /** Milliseconds from the start of the step. */
      readonly durationMs: number
    }

/** The name of an event. */
export type AuthEventType = AuthEvent['type']

/** Hears of every event, after the change it tells of has been committed. */
export type EventListener = (event: AuthEvent) => void | Promise<void>
