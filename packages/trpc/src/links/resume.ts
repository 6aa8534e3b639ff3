import type { Operation } from '@trpc/client'

/** A subscription that goes on after that event, the way that tRPC's own links ask for it: by the input. */
export function afterEvent(op: Operation, lastEventId: string | undefined): Operation {
  const { input } = op
  if (!lastEventId || typeof (input ?? {}) !== 'object') return op
  return { ...op, input: { ...(input as object | null), lastEventId } }
}
