import type { Credentials, Jwt, Model, ModelNode, Outcome, Secret, Session, Verdict } from './state.ts'

// The service in one page: both steps (service document, section 5), its seven scenarios (section 3), and
// session versions. Shares no code with the library. Times are in seconds.
const [GRACE, MINUTE, DAY] = [30, 60, 86_400]
const [SLIDING, ABSOLUTE] = [30 * DAY, 180 * DAY]

const isBanned = ({ bannedUntil, now }: Model) => bannedUntil !== null && bannedUntil > now
const isInGrace = ({ rotatedAt }: Session, { now }: Model) => rotatedAt !== null && now - rotatedAt <= GRACE

/** Step 1, without the database. */
export function step1({ now }: Model, { jwt, secret }: Credentials): Outcome {
  if (jwt === null) return 'TOKEN_MISSING'
  if (jwt.key.state !== 'trusted') return 'TOKEN_INVALID'
  if (jwt.expiresAt <= now) return 'TOKEN_EXPIRED'
  return secret !== null && secret.session !== jwt.session ? 'TOKEN_INVALID' : 'accepted'
}

/** Step 2. Over WebSocket, Step 1 was at the handshake, and the JWT may have expired since. */
export function step2(model: Model, { session, version, expiresAt, key }: Jwt, node: ModelNode): Outcome {
  // A key that leaves before the JWT expires has leaked.
  if (key.state === 'leaked' || (key.state === 'retired' && expiresAt > model.now)) return 'TOKEN_INVALID'
  if (node.isUnreadable) return 'SESSIONS_UNAVAILABLE'
  if (session.isDeleted) return 'SESSION_NOT_FOUND'
  const isPrevious = version === session.version - 1 && isInGrace(session, model)
  if (version !== session.version && !isPrevious) return 'TOKEN_INVALID'
  return ofSession(model, session)
}

function ofSession(model: Model, { expiresAt }: Session): Outcome {
  if (expiresAt <= model.now) return 'SESSION_EXPIRED'
  return isBanned(model) ? 'ACCOUNT_BANNED' : 'accepted'
}

/** A call on any transport. */
export function call(model: Model, credentials: Credentials, node: ModelNode): Outcome {
  const first = step1(model, credentials)
  return first === 'accepted' && credentials.jwt !== null ? step2(model, credentials.jwt, node) : first
}

/** A session begins, and the one that the browser had ends. */
export function signIn(
  model: Model,
  { isRight, former }: { isRight: boolean; former: Secret | null },
): Verdict {
  if (!isRight) return { outcome: 'INVALID_CREDENTIALS' }
  if (isBanned(model)) return { outcome: 'ACCOUNT_BANNED' }
  const { now } = model
  const first = { version: 1, provedVersion: 1, rotatedAt: null, createdAt: now, seenAt: now }
  const change = () => {
    signOut(model, former).change?.()
    model.sessions.push({ ...first, expiresAt: now + SLIDING, isDeleted: false })
  }
  return { outcome: 'accepted', change }
}

function endOf(session: Session): Pick<Verdict, 'change'> {
  const change = () => {
    session.isDeleted = true
  }
  return session.isDeleted ? {} : { change }
}

/** The user, an admin, or a hand in the database ends a session. */
export const revoke = (session: Session): Verdict => ({ outcome: 'accepted', ...endOf(session) })

/** A secret from before a proof is a leftover copy. One that was rotated out earlier was copied and used. */
function statusOf({ session, version }: Secret, model: Model) {
  if (version === session.version) return 'current'
  if (version === session.version - 1 && isInGrace(session, model)) return 'previous'
  return version < session.provedVersion ? 'superseded' : 'replayed'
}

export function signOut(model: Model, secret: Secret | null): Verdict {
  if (secret === null || statusOf(secret, model) === 'superseded') return { outcome: 'accepted' }
  return revoke(secret.session)
}

/** Scenario "JWT expired, session valid": the token endpoint. */
export function refresh(model: Model, secret: Secret, { rotates, isUnreadable }: ModelNode): Verdict {
  const { session } = secret
  const { now } = model
  if (isUnreadable) return { outcome: 'SESSIONS_UNAVAILABLE' }
  if (session.isDeleted) return { outcome: 'SESSION_NOT_FOUND' }
  const status = statusOf(secret, model)
  if (status === 'replayed') return { outcome: 'SESSION_NOT_FOUND', ...endOf(session) }
  const outcome = ofSession(model, session)
  if (outcome !== 'accepted') return { outcome }
  if (status === 'superseded') return { outcome: 'SECRET_SUPERSEDED' }
  if (status === 'previous') return { outcome, version: session.version - 1 }
  const renewed = Math.min(now + SLIDING, session.createdAt + ABSOLUTE)
  const isRenewed = now - (session.expiresAt - SLIDING) >= DAY && renewed > session.expiresAt
  const isRotated = rotates && !isInGrace(session, model)
  if (!isRenewed && !isRotated && now - session.seenAt < MINUTE) return { outcome }
  const change = () => {
    if (isRotated) Object.assign(session, { version: session.version + 1, rotatedAt: now })
    Object.assign(session, { seenAt: now, expiresAt: isRenewed ? renewed : session.expiresAt })
  }
  return { outcome, change }
}

/** Scenario of a new version: older JWTs, secrets, and sockets stop working at once. */
export function changePassword(
  model: Model,
  credentials: Credentials,
  options: { node: ModelNode; endsOthers: boolean },
): Verdict {
  const outcome = call(model, credentials, options.node)
  const { secret } = credentials
  if (outcome !== 'accepted') return { outcome }
  if (secret === null || !['current', 'previous'].includes(statusOf(secret, model)))
    return { outcome: 'SESSION_SECRET_REQUIRED' }
  const { session } = secret
  const change = () => {
    const version = session.version + 1
    Object.assign(session, { version, provedVersion: version, rotatedAt: null })
    for (const other of model.sessions) if (options.endsOthers && other !== session) other.isDeleted = true
  }
  return { outcome, change }
}
