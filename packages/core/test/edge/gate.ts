// Runs on the edge: nothing here may need Node.
import {
  type AuthConfig,
  authenticate,
  defineAuthConfig,
  dynamicJwks,
  isAuthError,
  sessionsOf,
  staticJwks,
  withAuthStore,
} from '@sallyport/core'
import { keysVersion } from '@sallyport/core/internal/server'
import { memoryFeed } from '../../src/revocations/memory-feed.ts'

/** A row of the database, as JSON has it. */
export interface StoredSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: string
  readonly banned: boolean
}

/** Both steps in an edge function. */
export interface Gate {
  /** Sends a request with cookies through them: the id of the session, or the reason. */
  enter(cookie: string, options?: { sent?: Record<string, string> }): Promise<string>
  /** Whether the keys can be used: `ready` or the reason. */
  ready(): Promise<string>
  readonly keysVersion: number
}

/** Gate whose keys are in the setting itself. */
export function openWithStaticKeys(jwks: string, settings: Settings): Gate {
  return open(defineAuthConfig({ ...common(settings), jwks: staticJwks(jwks) }), settings)
}

/** Gate whose keys are fetched. */
export function openWithDynamicKeys(url: string, settings: Settings): Gate {
  return open(defineAuthConfig({ ...common(settings), jwks: dynamicJwks(url) }), settings)
}

/** The settings of a gate. */
export interface Settings {
  readonly baseUrl: string
  /** The clock, in milliseconds. */
  readonly now: number
  /** Null where the database is gone. */
  readonly sessions: readonly StoredSession[] | null
  readonly onDenial?: (event: string) => void
}

function common({ baseUrl, now, onDenial }: Settings) {
  return {
    baseUrl,
    now: () => new Date(now),
    lookupTimeoutMs: 2_000,
    ...(onDenial !== undefined && {
      onEvent: (event: object) => onDenial(JSON.stringify(event)),
    }),
  }
}

function open(config: AuthConfig, { sessions }: Settings): Gate {
  const findSession = async (key: { sessionId: string; userId: string }) => {
    if (sessions === null) throw new Error('The database is gone')
    const row = sessions.find(({ id, userId }) => id === key.sessionId && userId === key.userId)
    return row === undefined ? null : toSession(row)
  }
  const db = withAuthStore({}, { sessions: { findSession }, revocations: memoryFeed() })
  return {
    async enter(cookie, { sent = {} } = {}) {
      const headers = new Headers({ 'sec-fetch-site': 'same-origin', ...sent, cookie })
      const request = { method: 'POST', header: (name: string) => headers.get(name) }
      try {
        const { session } = await authenticate(request, 'mutation', { config, sessions: sessionsOf(db) })
        return session.id
      } catch (error) {
        return isAuthError(error) ? error.reason : String(error)
      }
    },
    async ready() {
      try {
        await Promise.all(config.issuers.map(({ jwks }) => jwks.ready()))
        return 'ready'
      } catch (error) {
        return isAuthError(error) ? error.reason : String(error)
      }
    },
    get keysVersion() {
      return keysVersion(config)
    },
  }
}

function toSession({ id, userId, expiresAt, banned }: StoredSession) {
  return {
    id,
    userId,
    expiresAt: new Date(expiresAt),
    lastAuthenticatedAt: expiresAt,
    version: 1,
    rotatedAt: null,
    issuer: null,
    user: { id: userId, name: 'Ada', email: 'ada@example.com', role: 'user' },
    ban: banned ? { until: null } : null,
  }
}
