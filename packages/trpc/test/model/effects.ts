import { call, refresh, step1 } from './model.ts'
import type { Credentials, Jwt, Model, ModelNode, Outcome, Session, Verdict } from './state.ts'

const [JWT_SECONDS, RENDER_SECONDS] = [900, 10]

/** Applies a verdict, and returns the allowed outcomes: 503 if something can't be written. */
export function settle(model: Model, { outcome, change }: Verdict): Outcome[] {
  if (model.isReadOnly) return [...(change ? [] : [outcome]), 'SESSIONS_UNAVAILABLE']
  change?.()
  return [outcome]
}

/** Returns the JWT that a session gets now. It never outlives the session. */
export function issue({ now, key }: Model, session: Session, version = session.version): Jwt {
  return { session, version, expiresAt: Math.min(now + JWT_SECONDS, session.expiresAt), key }
}

/** A page, rendered with the JWT in the cookie or, if that one is rejected or about to expire, a new one. */
export function render(model: Model, credentials: Credentials, node: ModelNode): Outcome[] {
  const { jwt, secret } = credentials
  const own = call(model, credentials, node)
  const isIdentified = jwt !== null && step1(model, credentials) === 'accepted'
  const isEnding = isIdentified && jwt.expiresAt - model.now <= RENDER_SECONDS
  if (secret === null || !(own.startsWith('TOKEN_') || isEnding)) return [own]
  return settle(model, refresh(model, secret, node)).map((outcome) => {
    if (outcome === 'accepted') return outcome
    // Without a session, the rest of the page is anonymous. An unknown answer changes nothing.
    return outcome.startsWith('SESSION_') && (isEnding || !isIdentified) ? 'TOKEN_MISSING' : own
  })
}
