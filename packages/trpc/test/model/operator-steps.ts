import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { sessionAt } from './account-steps.ts'
import { callWith } from './call-steps.ts'
import type { Command } from './commands.ts'
import { settle } from './effects.ts'
import { revoke } from './model.ts'
import type { Session, Verdict } from './state.ts'
import { callEndpoint, check, type EndpointAnswer, type World } from './world.ts'

async function callAsAdmin(world: World, path: string, { node, body }: { node: 0 | 1; body: object }) {
  const { system, address } = world
  return callEndpoint(system.nodes[node], path, { cookie: await system.adminCookie(), address, body })
}

/** Applies what an admin changes, on a node that can read the session of the admin. */
function checkAdmin(
  world: World,
  what: string,
  done: { node: 0 | 1; response: EndpointAnswer; verdict: Verdict },
): void {
  const { model, modelNodes } = world
  const { isUnreadable } = modelNodes[done.node]
  const allowed = isUnreadable ? (['SESSIONS_UNAVAILABLE'] as const) : settle(model, done.verdict)
  check(world, what, { ...done.response, allowed })
}

export async function revokeAsAdmin(
  world: World,
  { node, session: index }: Command<'admin revokes'>,
): Promise<void> {
  const session = sessionAt(world, index)
  if (session === undefined) return
  const response = await sendRevocation(world, session, node)
  checkAdmin(world, 'revocation by admin', { node, response, verdict: revoke(session) })
}

function sendRevocation(world: World, session: Session, node: 0 | 1): Promise<EndpointAnswer> {
  const body = { sessionId: world.ids.get(session) }
  return callAsAdmin(world, ENDPOINTS.revokeUserSession.path, { node, body })
}

/** While a revocation waits for a lock, calls are as before it. */
export async function revokeBehindLock(
  world: World,
  { node, session: index }: Command<'revoke behind a lock'>,
): Promise<void> {
  const session = sessionAt(world, index)
  if (session === undefined) return
  const unlock = await world.system.engine.lock(world.userId)
  const sent = sendRevocation(world, session, node)
  try {
    for (const jar of world.jars) {
      await callWith(world, jar, { node: 0, transport: 'createCaller' })
      await callWith(world, jar, { node: 1, transport: 'HTTP' })
    }
  } finally {
    await unlock()
    await sent
  }
  checkAdmin(world, 'revocation behind a lock', { node, response: await sent, verdict: revoke(session) })
}

export async function deleteRow(world: World, index: number): Promise<void> {
  const session = sessionAt(world, index)
  if (session === undefined) return
  await world.system.engine.run(`delete from session where id = '${world.ids.get(session)}'`)
  session.isDeleted = true
}

/** A hand in the database sets the end to now. */
export async function expireRow(world: World, index: number): Promise<void> {
  const { system, model, ids } = world
  const session = sessionAt(world, index)
  if (session === undefined) return
  const now = system.clock.now().toISOString()
  await system.engine.run(`update session set "expiresAt" = '${now}' where id = '${ids.get(session)}'`)
  session.expiresAt = model.now
}

export async function ban(world: World, { node, seconds }: Command<'ban'>): Promise<void> {
  const { model, userId } = world
  const body = { userId, ...(seconds !== null && { expiresIn: seconds }) }
  const response = await callAsAdmin(world, ENDPOINTS.banUser.path, { node, body })
  const change = () => {
    model.bannedUntil = seconds === null ? Number.POSITIVE_INFINITY : model.now + seconds
  }
  checkAdmin(world, 'ban', { node, response, verdict: { outcome: 'accepted', change } })
}

export async function unban(world: World, { node }: Command<'unban'>): Promise<void> {
  const { model, userId } = world
  const response = await callAsAdmin(world, ENDPOINTS.unbanUser.path, { node, body: { userId } })
  const change = () => {
    model.bannedUntil = null
  }
  const verdict: Verdict = { outcome: 'accepted', ...(model.bannedUntil !== null && { change }) }
  checkAdmin(world, 'unban', { node, response, verdict })
}

export async function banByHand({ system, model, userId }: World, banned: boolean): Promise<void> {
  await system.engine.run(`update "user" set banned = ${banned}, "banExpires" = null where id = '${userId}'`)
  model.bannedUntil = banned ? Number.POSITIVE_INFINITY : null
}

export async function rotateKeys({ system, model, keys }: World): Promise<void> {
  model.key = { state: 'trusted' }
  keys.unshift({ kid: await system.keys.rotate(), key: model.key })
}

export async function removeOldestKey({ system, keys }: World, leaked: boolean): Promise<void> {
  const oldest = keys.findLast(({ key }, index) => index > 0 && key.state === 'trusted')
  if (oldest === undefined) return
  await system.keys.remove(oldest.kid, { leaked })
  oldest.key.state = leaked ? 'leaked' : 'retired'
}

export async function setReadOnly({ system, model }: World, isReadOnly: boolean): Promise<void> {
  if (model.isReadOnly !== isReadOnly) await system.engine.setReadOnly(isReadOnly)
  model.isReadOnly = isReadOnly
}

export function setUnreadable({ system, modelNodes }: World, node: 0 | 1, isUnreadable: boolean): void {
  system.nodes[node].isUnreadable = isUnreadable
  modelNodes[node].isUnreadable = isUnreadable
}
