import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { copyOf } from './call-steps.ts'
import type { Command } from './commands.ts'
import { issue, settle } from './effects.ts'
import { call, changePassword, refresh, revoke, signIn, signOut } from './model.ts'
import type { Jwt, Session } from './state.ts'
import {
  callEndpoint,
  callerOf,
  check,
  type EndpointAnswer,
  factsOf,
  type Jar,
  receive,
  type World,
} from './world.ts'

export async function signInStep(
  world: World,
  { node, browser, password }: Command<'sign in'>,
): Promise<void> {
  const { system, model, jars, email } = world
  const jar = jars[browser]
  const isRight = password === 'current' || world.formerPassword === null
  const given = isRight ? world.password : world.formerPassword
  const body = { email, password: given }
  const response = await callEndpoint(system.nodes[node], ENDPOINTS.signInEmail.path, {
    ...callerOf(world, jar),
    body,
  })
  const allowed = settle(model, signIn(model, { isRight, former: factsOf(jar).secret }))
  check(world, 'sign-in', { ...response, allowed })
  jars[browser] = take(world, jar, response)
}

export async function refreshStep(world: World, { node, browser }: Command<'refresh'>): Promise<void> {
  const jar = world.jars[browser]
  if (jar.secret !== null) world.jars[browser] = await refreshWith(world, jar, node)
}

export async function refreshWithCopy(
  world: World,
  { node, secret }: Command<'refresh with a copy'>,
): Promise<void> {
  const copy = copyOf(world.secrets, secret)
  if (copy !== null) await refreshWith(world, { jwt: null, secret: copy }, node)
}

async function refreshWith(world: World, jar: Jar, node: 0 | 1): Promise<Jar> {
  const { model, modelNodes, system } = world
  const { secret } = factsOf(jar)
  if (secret === null) return jar
  const response = await callEndpoint(system.nodes[node], ENDPOINTS.token.path, callerOf(world, jar))
  const verdict = refresh(model, secret, modelNodes[node])
  check(world, 'refresh', { ...response, allowed: settle(model, verdict) })
  return take(world, jar, response, verdict.version)
}

export async function signOutStep(world: World, { node, browser }: Command<'sign out'>): Promise<void> {
  const { system, model, jars } = world
  const jar = jars[browser]
  if (jar.secret === null) return
  const caller = { ...callerOf(world, jar), body: {} }
  const response = await callEndpoint(system.nodes[node], ENDPOINTS.signOut.path, caller)
  check(world, 'sign-out', { ...response, allowed: settle(model, signOut(model, jar.secret.facts)) })
  jars[browser] = receive(world, jar, response.setCookies)
}

export async function revokeOwn(
  world: World,
  { node, browser, session: index }: Command<'revoke own'>,
): Promise<void> {
  const { system, model, modelNodes, jars } = world
  const session = sessionAt(world, index)
  if (session === undefined) return
  const caller = { ...callerOf(world, jars[browser]), body: { sessionId: world.ids.get(session) } }
  const response = await callEndpoint(system.nodes[node], ENDPOINTS.revokeSession.path, caller)
  const outcome = call(model, factsOf(jars[browser]), modelNodes[node])
  const allowed = settle(model, outcome === 'accepted' ? revoke(session) : { outcome })
  check(world, 'revocation', { ...response, allowed })
}

const PASSWORDS = ['copper lantern 41', 'copper lantern 52', 'copper lantern 63'] as const

export async function changePasswordStep(world: World, command: Command<'change password'>): Promise<void> {
  const { system, model, modelNodes, jars } = world
  const { node, browser, endsOthers, withSecret } = command
  const jar = withSecret ? jars[browser] : { ...jars[browser], secret: null }
  // Few passwords: the tests search every database file for each of them.
  const used = [world.password, world.formerPassword]
  const newPassword = PASSWORDS.find((known) => !used.includes(known)) ?? PASSWORDS[0]
  const body = { currentPassword: world.password, newPassword, revokeOtherSessions: endsOthers }
  const caller = { ...callerOf(world, jar), body }
  const response = await callEndpoint(system.nodes[node], ENDPOINTS.changePassword.path, caller)
  const verdict = changePassword(model, factsOf(jar), { node: modelNodes[node], endsOthers })
  check(world, 'password change', { ...response, allowed: settle(model, verdict) })
  if (response.answer !== 'accepted') return
  world.formerPassword = world.password
  world.password = newPassword
  jars[browser] = take(world, jar, response)
}

/** Takes the cookies of a response. Its JWT must be the one that the model issues. */
function take(world: World, jar: Jar, { answer, setCookies }: EndpointAnswer, version?: number): Jar {
  const taken = receive(world, jar, setCookies)
  if (answer !== 'accepted') return taken
  const { jwt } = factsOf(taken)
  const expected = jwt && issue(world.model, jwt.session, version)
  if (jwt === null || show(jwt) !== show(expected))
    throw new Error(`The JWT has ${show(jwt)}, but the model issues ${show(expected)}`)
  return taken
}

const show = (jwt: Jwt | null) => JSON.stringify(jwt && [jwt.version, jwt.expiresAt, jwt.key])

/** Returns a session of the user by its number, modulo how many there are. */
export function sessionAt({ model }: World, index: number): Session | undefined {
  return model.sessions[index % Math.max(1, model.sessions.length)]
}
