import type { Reason } from '../protocol.ts'

/** What failed: a closed list, which only grows. */
export type FailureCode =
  /** The database can't be reached, or has failed in another way than those below. */
  | 'DATABASE_UNAVAILABLE'
  | 'DATABASE_READ_ONLY'
  /** The disk or the database is full. */
  | 'DATABASE_FULL'
  /** Another connection holds a lock, or transactions conflict again and again. */
  | 'DATABASE_LOCKED'
  | 'DATABASE_TIMEOUT'
  /** The SQLite file was removed or replaced, so what this process writes is lost. Restart it. */
  | 'DATABASE_FILE_REPLACED'
  /** The pool or the server has no free connection. */
  | 'POOL_EXHAUSTED'
  /** Revocations of other processes don't arrive. Streams end within their lease. */
  | 'FEED_DOWN'
  | 'KEYS_UNAVAILABLE'
  /** A provider of `oauth()` sent no valid response, or rejected the app's id, secret, scopes, or request. */
  | 'PROVIDER_UNAVAILABLE'
  /** The key file is gone, can't be read, or isn't valid. The last known keys stay in use. */
  | 'KEY_FILE_INVALID'
  /** The clocks of the server and the database differ by over 30 s. */
  | 'CLOCK_SKEW'
  /** Internal functions or the token endpoint in another process didn't respond, or not as they should. */
  | 'BACKEND_UNAVAILABLE'
  /** Too many passwords are waiting to be hashed. */
  | 'PASSWORD_QUEUE_FULL'
  /** Work after a response has failed, such as an email or an invitation. */
  | 'AFTER_RESPONSE_FAILED'
  | 'EVENT_LISTENER_FAILED'
  | 'CONFIGURATION_INVALID'
  /** Any other error, of the app or of this package. */
  | 'INTERNAL_ERROR'

/** Where it failed: in a guard, in a procedure behind it, in an auth endpoint, or in no request. */
export type FailureStep = 'step1' | 'step2' | 'procedure' | 'endpoint' | 'background'

/** A failure of the server, such as the cause of a 503 or a 500. Rejections of callers are events instead. */
export interface AuthFailure {
  readonly code: FailureCode
  /** The reason in the response to the caller; null for a 500, and in the background. */
  readonly reason: Reason | null
  /** The procedure, the endpoint after `/api/auth`, or the work in the background; null if unknown. */
  readonly path: string | null
  readonly step: FailureStep
  /** The original error; null if `recovered`. */
  readonly cause: unknown
  /** Whether it works again: for a key file, a dynamic JWKS, the feed of revocations, and a SQLite file. */
  readonly recovered: boolean
  /** How many more failures with this code and path weren't reported since the last report. */
  readonly suppressed: number
}

/** Receives failures; see `onFailure` of `defineAuthConfig`. May return a promise. */
export type FailureListener = (failure: AuthFailure) => unknown
