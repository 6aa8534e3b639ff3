import { expect } from 'vitest'
import type { Random } from '../../../core/test/hostile/random.ts'
import { countIn } from './answer.ts'
import { callOverEvents, callOverHttp, openSocket } from './calls.ts'
import { BANNED, KINDS, type Kind, type Means, reasonAfter, revoke } from './revocations.ts'
import type { SignedIn } from './signed-in-users.ts'
import type { Nodes } from './start-nodes.ts'

/** HTTP, WebSocket, and server-sent events. */
const TRANSPORTS = 3
const VICTIMS_AT_ONCE = 12

/** Counts of the calls by result. */
export interface Counts {
  readonly before: Record<string, number>
  /** Sent before the acknowledgment, so either result is correct. */
  readonly during: Record<string, number>
  /** Also by kind of revocation. */
  readonly after: Record<string, number>
}

interface Scene extends Pick<Means, 'admin' | 'database'> {
  readonly nodes: Nodes
  readonly random: Random
  /** Of the log. */
  readonly title: string
}

/** Revokes sessions with calls around each, and expects that none is accepted that was sent afterward. */
export async function revokeAmidCalls(
  victims: readonly SignedIn[],
  { nodes, random, title, ...means }: Scene,
): Promise<Counts> {
  const plan = victims.map((victim, i) => {
    return { victim, kind: KINDS[i % KINDS.length] ?? 'ban', node: random.pick(nodes) }
  })
  const counts: Counts = { before: {}, during: {}, after: {} }
  async function revokeInTurn(): Promise<void> {
    for (let next = plan.pop(); next !== undefined; next = plan.pop()) {
      const { victim, kind, node } = next
      const acknowledge = () => revoke(kind, victim, { node, ...means })
      await callAround(acknowledge, { nodes, victim, kind, counts })
    }
  }
  await Promise.all(Array.from({ length: VICTIMS_AT_ONCE }, revokeInTurn))

  console.log(title, counts)
  const calls = victims.length * nodes.length * TRANSPORTS
  expect(counts.before).toEqual({ '200': calls })
  expect(sum(counts.after)).toBe(calls)
  const rejections = KINDS.map((kind) => `${kind}: ${kind === 'ban' ? 403 : 401} ${reasonAfter(kind)}`)
  // A banned user's socket may already be closed.
  rejections.push(`ban: 0 closed ${BANNED}`)
  expect(Object.keys(counts.after).filter((answer) => !rejections.includes(answer))).toEqual([])
  return counts
}

/** Calls before, during, and after a session's revocation, on both nodes over all transports. */
async function callAround(
  acknowledge: () => Promise<number>,
  { nodes, victim, kind, counts }: { nodes: Nodes; victim: SignedIn; kind: Kind; counts: Counts },
): Promise<void> {
  const sockets = await Promise.all(nodes.map((node) => openSocket(node, victim)))
  const callAll = () =>
    Promise.all([
      ...nodes.map((node) => callOverHttp(node, victim)),
      ...nodes.map((node) => callOverEvents(node, victim)),
      ...sockets.map((socket) => socket.call()),
    ])
  for (const answer of await callAll()) countIn(counts.before, answer)
  const after = acknowledge().then((status) => {
    expect(status, kind).toBe(200)
    return callAll()
  })
  const during = callAll()
  for (const answer of await during) countIn(counts.during, answer)
  for (const answer of await after) countIn(counts.after, answer, `${kind}: `)
  for (const socket of sockets) socket.close()
}

export function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, part) => total + part, 0)
}
