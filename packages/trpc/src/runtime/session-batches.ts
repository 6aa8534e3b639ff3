import type { SessionKey } from '@sallyport/core'
import { timersAreShared, withDeadline } from '@sallyport/core/internal/server'

/** Far fewer than the calls that a runner and an internal handler accept: streams read hundreds at once. */
const MAX_CALLS = 10

/** Their sessions fit into a response, unless columns are large. */
const MAX_KEYS = 50

/** After so many in a row, the backend is down. A call for each session would add to its load. */
const MAX_FAILURES = 10

interface Read extends PromiseWithResolvers<unknown> {
  readonly key: SessionKey
  /** Whether its time is up. */
  isOver: boolean
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
    await sendTogether(batch)
    calls--
    void sendWaiting()
  }

  /** If the call fails, sends each half: one session may be why, such as with a column that is too large. */
  async function sendTogether(batch: readonly Read[]): Promise<void> {
    const parts = [batch]
    let failures = 0
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const reads = part.filter(({ isOver }) => !isOver)
      if (reads.length === 0) continue
      try {
        const sessions = await withDeadline(send(reads.map(({ key }) => key)), timeoutMs)
        for (const [index, { resolve }] of reads.entries()) resolve(sessions[index])
        failures = 0
      } catch (error) {
        failures++
        const middle = Math.floor(reads.length / 2)
        if (middle > 0 && failures < MAX_FAILURES) parts.push(reads.slice(middle), reads.slice(0, middle))
        else for (const { reject } of reads) reject(error)
      }
    }
  }

  return (key) => {
    const read: Read = { key, isOver: false, ...Promise.withResolvers<unknown>() }
    waiting.add(read)
    if (calls < MAX_CALLS) void sendWaiting()
    return withDeadline(read.promise, timeoutMs).finally(() => {
      waiting.delete(read)
      read.isOver = true
    })
  }
}
