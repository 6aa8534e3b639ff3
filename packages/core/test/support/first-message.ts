import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

// Less than a test may take, so its failure says what was missing.
const MAX_START_MS = 55_000

/**
 * Waits for the first message of a newly forked process. Throws if it exits before that, or takes too long.
 */
export async function firstMessage<Message>(child: ChildProcess): Promise<Message> {
  const started = child.spawnargs.join(' ')
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${started} ended with ${code ?? signal} before it was ready`)
  })
  const message = once(child, 'message', { signal: AbortSignal.timeout(MAX_START_MS) }).catch((cause) => {
    throw new Error(`${started} was not ready after ${MAX_START_MS} ms`, { cause })
  })
  const [first] = await Promise.race([message, ended])
  return first
}
