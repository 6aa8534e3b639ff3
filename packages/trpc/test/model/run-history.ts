import { TEST_PASSWORD } from '@sallyport/core/testing'
import {
  changePasswordStep,
  refreshStep,
  refreshWithCopy,
  revokeOwn,
  signInStep,
  signOutStep,
} from './account-steps.ts'
import { callOnSocket, callWith, connect, copyOf, noteClosing, renderPage } from './call-steps.ts'
import type { Command } from './commands.ts'
import type { System } from './open-system.ts'
import {
  ban,
  banByHand,
  deleteRow,
  expireRow,
  removeOldestKey,
  revokeAsAdmin,
  revokeBehindLock,
  rotateKeys,
  setReadOnly,
  setUnreadable,
  unban,
} from './operator-steps.ts'
import type { Key } from './state.ts'
import { NO_COOKIES, type World } from './world.ts'

const START = Date.UTC(2030, 0)
const FIRST: Command = { do: 'sign in', node: 0, browser: 0, password: 'current' }
let histories = 0

/** Runs a history with a new user. @throws at the first answer that the model doesn't allow */
export async function runHistory(
  system: System,
  commands: readonly Command[],
  counts: World['counts'],
): Promise<void> {
  const world = await begin(system, counts)
  try {
    for (const command of [FIRST, ...commands]) {
      await perform(world, command)
      noteClosing(world)
    }
    await heal(world)
    await callWithAll(world)
  } finally {
    await heal(world)
    for (const { socket } of world.sockets) socket.close()
  }
}

async function begin(system: System, counts: World['counts']): Promise<World> {
  system.clock.advance((START - system.clock.now().getTime()) / 1_000)
  const key: Key = { state: 'trusted' }
  const kid = await system.keys.reset()
  const number = ++histories
  return {
    system,
    model: { now: START / 1_000, key, bannedUntil: null, sessions: [], isReadOnly: false },
    modelNodes: [
      { rotates: false, isUnreadable: false },
      { rotates: true, isUnreadable: false },
    ],
    ...(await system.createUser()),
    password: TEST_PASSWORD,
    formerPassword: null,
    address: `45.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
    jars: [NO_COOKIES, NO_COOKIES],
    jwts: [],
    secrets: [],
    sockets: [],
    keys: [{ kid, key }],
    ids: new Map(),
    counts,
  }
}

async function perform(world: World, command: Command): Promise<unknown> {
  switch (command.do) {
    case 'sign in':
      return signInStep(world, command)
    case 'call':
      return callWith(world, world.jars[command.browser], command)
    case 'call with copies': {
      const jwt = copyOf(world.jwts, command.jwt)
      return callWith(world, { jwt, secret: copyOf(world.secrets, command.secret) }, command)
    }
    case 'connect':
      return connect(world, command)
    case 'call on socket':
      return callOnSocket(world, command.socket)
    case 'render':
      return renderPage(world, command)
    case 'refresh':
      return refreshStep(world, command)
    case 'sign out':
      return signOutStep(world, command)
    case 'refresh with a copy':
      return refreshWithCopy(world, command)
    case 'revoke own':
      return revokeOwn(world, command)
    case 'admin revokes':
      return revokeAsAdmin(world, command)
    case 'revoke behind a lock':
      return revokeBehindLock(world, command)
    case 'row is deleted':
      return deleteRow(world, command.session)
    case 'row expires':
      return expireRow(world, command.session)
    case 'ban':
      return ban(world, command)
    case 'unban':
      return unban(world, command)
    case 'ban by hand':
      return banByHand(world, command.banned)
    case 'change password':
      return changePasswordStep(world, command)
    case 'rotate keys':
      return rotateKeys(world)
    case 'remove oldest key':
      return removeOldestKey(world, command.leaked)
    case 'time passes':
      world.system.clock.advance(command.seconds)
      world.model.now += command.seconds
      return
    case 'reads fail':
      return setUnreadable(world, command.node, command.fail)
    case 'writes fail':
      return setReadOnly(world, command.fail)
  }
}

async function heal(world: World): Promise<void> {
  await setReadOnly(world, false)
  for (const node of [0, 1] as const) setUnreadable(world, node, false)
}

/** Calls with every JWT of the history, alone and beside another session cookie. */
async function callWithAll(world: World): Promise<void> {
  for (const [index, jwt] of world.jwts.entries()) {
    const secret = world.secrets[(index + 1) % world.secrets.length] ?? null
    await callWith(world, { jwt, secret: null }, { node: 0, transport: 'createCaller' })
    await callWith(world, { jwt, secret }, { node: 1, transport: 'HTTP' })
  }
  for (const index of world.sockets.keys()) await callOnSocket(world, index)
}
