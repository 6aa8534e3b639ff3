import { expect } from 'vitest'
import { countIn } from './answer.ts'
import { callOverEvents, callOverHttp, openSocket } from './calls.ts'
import type { Kind } from './revocations.ts'
import type { SignedIn } from './signed-in-users.ts'
import type { Nodes } from './start-nodes.ts'

/** Counts of the calls by result. */
export interface Counts {
  readonly before: Record<string, number>
  /** Sent before the acknowledgment, so either result is correct. */
  readonly during: Record<string, number>
  /** Also by kind of revocation. */
  readonly after: Record<string, number>
}

/** Calls before, during, and after a session's revocation, on both nodes over all transports. */
export async function callAround(
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
