import type { SessionKey } from '@sallyport/core'
import { timersAreShared, withDeadline } from '@sallyport/core/internal/server'

/** Far fewer than the calls that a runner and an internal handler accept: streams read hundreds at once. */
const MAX_CALLS = 10

/** Their sessions fit into a response, even with large columns. */
const MAX_KEYS = 50

interface Read extends PromiseWithResolvers<unknown> {
  readonly key: SessionKey
}

/**
 * Returns a function that reads a session. The first ten reads are sent at once. Reads that begin meanwhile
 * are sent together. In Cloudflare Workers, requests can't share a call.
 *
 * @param send returns the sessions in the order of the keys
 * @param timeoutMs how long Step 2 waits. Then a call that hangs loses its place, and no later call sends a
 * read that is still waiting.
 * @throws DeadlineError
 */
export function createSessionBatches(
  send: (keys: readonly SessionKey[]) => Promise<readonly unknown[]>,
  timeoutMs: number,
): (key: SessionKey) => Promise<unknown> {
  if (!timersAreShared) return async (key) => (await send([key]))[0]
  const waiting = new Set<Read>()
  let calls = 0

  async function sendWaiting(): Promise<void> {
    const batch = [...waiting].slice(0, MAX_KEYS)
    if (batch.length === 0) return
    for (const read of batch) waiting.delete(read)
    calls++
    try {
      const sessions = await withDeadline(send(batch.map(({ key }) => key)), timeoutMs)
      for (const [index, { resolve }] of batch.entries()) resolve(sessions[index])
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    calls--
    void sendWaiting()
  }

  return (key) => {
    const read = { key, ...Promise.withResolvers<unknown>() }
    waiting.add(read)
    if (calls < MAX_CALLS) void sendWaiting()
    return withDeadline(read.promise, timeoutMs).finally(() => waiting.delete(read))
  }
}
