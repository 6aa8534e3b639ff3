import { ORIGIN } from '../support/visitor.ts'
import type { Command } from './commands.ts'
import { render } from './effects.ts'
import { call, step1, step2 } from './model.ts'
import { createCaller } from './router.ts'
import type { Outcome } from './state.ts'
import { caught, openSocket, TRANSPORTS, type Transport } from './transports.ts'
import { callerOf, check, factsOf, type Jar, receive, type World } from './world.ts'

/** Calls with these cookies, which may not belong together. */
export async function callWith(
  world: World,
  jar: Jar,
  { node, transport }: { node: 0 | 1; transport: Transport },
): Promise<void> {
  const { system, model, modelNodes } = world
  const credentials = factsOf(jar)
  const outcome = call(model, credentials, modelNodes[node])
  // Its transaction can't begin on a database that is read-only.
  const mayFail = transport === 'mutation' && model.isReadOnly
  const allowed: Outcome[] = mayFail ? [outcome, 'SESSIONS_UNAVAILABLE'] : [outcome]
  const answer = await TRANSPORTS[transport](system.nodes[node], callerOf(world, jar))
  check(world, transport, { answer, session: credentials.jwt?.session, allowed })
}

/** Returns one of the items, or null. */
export function copyOf<Item>(items: readonly Item[], index: number): Item | null {
  return items[index % (items.length + 1)] ?? null
}

export async function connect(world: World, { node, browser }: Command<'connect'>): Promise<void> {
  const jar = world.jars[browser]
  const credentials = factsOf(jar)
  const first = step1(world.model, credentials)
  const socket = await openSocket(world.system.nodes[node], callerOf(world, jar))
  const held = { socket, node, credentials, first, mayClose: false }
  world.sockets.push(held)
  // Step 1 starts at the handshake. This call waits for it.
  await callOnSocket(world, world.sockets.length - 1)
}

export async function callOnSocket(world: World, index: number): Promise<void> {
  const held = world.sockets[index % Math.max(1, world.sockets.length)]
  if (held === undefined) return
  const { credentials, first } = held
  const { jwt } = credentials
  const node = world.modelNodes[held.node === 0 ? 0 : 1]
  const outcome = first === 'accepted' && jwt !== null ? step2(world.model, jwt, node) : first
  const answer = await held.socket.read()
  if (answer === 'closed' && held.mayClose) return
  check(world, 'open socket', { answer, session: jwt?.session, allowed: [outcome] })
}

/** Notes the sockets that the server closes: the user is banned, or the credentials were replaced. */
export function noteClosing({ sockets, model, modelNodes }: World): void {
  for (const held of sockets) {
    const { jwt } = held.credentials
    if (held.first !== 'accepted' || jwt === null) continue
    const outcome = step2(model, jwt, modelNodes[held.node === 0 ? 0 : 1])
    held.mayClose ||= outcome === 'TOKEN_INVALID' || outcome === 'ACCOUNT_BANNED'
  }
}

export async function renderPage(world: World, { node, browser }: Command<'render'>): Promise<void> {
  const { system, model, modelNodes, jars, address } = world
  const jar = jars[browser]
  const credentials = factsOf(jar)
  const isIdentified = step1(model, credentials) === 'accepted'
  const session = (isIdentified ? credentials.jwt : credentials.secret)?.session
  const allowed = render(model, credentials, modelNodes[node])
  const { render: open, contexts, db } = system.nodes[node]
  const { cookie } = callerOf(world, jar)
  const page = await open(new Request(`${ORIGIN}/`, { headers: { cookie } }), { remoteAddress: address })
  const answer = await caught(() =>
    page.call((headers) => createCaller({ ...contexts.headers(headers), db }).read()),
  )
  jars[browser] = receive(world, jar, page.setCookies)
  check(world, 'render', { answer, session, allowed })
}
