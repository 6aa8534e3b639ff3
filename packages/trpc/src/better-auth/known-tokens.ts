import type { SessionKey } from '@sallyport/core'

/** More than the identity cache holds, so every cached identity has a token here. Only sockets are older. */
const MAX_TOKENS = 50_000

/** The tokens that Step 1 has verified. A secondary storage finds a session only by its token. */
export interface KnownTokens {
  add(token: string, key: SessionKey): void
  tokenOf(sessionId: string): string | undefined
  sessionOf(token: string): SessionKey | undefined
}

/** Creates a bounded map between tokens and sessions. The oldest entry is evicted first. */
export function createKnownTokens(maxTokens: number = MAX_TOKENS): KnownTokens {
  const tokens = new Map<string, string>()
  const sessions = new Map<string, SessionKey>()

  function remove(sessionId: string): void {
    sessions.delete(tokens.get(sessionId) ?? '')
    tokens.delete(sessionId)
  }

  return {
    add(token, { sessionId, userId }) {
      remove(sessionId)
      const [oldest] = tokens.keys()
      if (oldest !== undefined && tokens.size >= maxTokens) remove(oldest)
      tokens.set(sessionId, token)
      sessions.set(token, { sessionId, userId })
    },
    tokenOf: (sessionId) => tokens.get(sessionId),
    sessionOf: (token) => sessions.get(token),
  }
}
