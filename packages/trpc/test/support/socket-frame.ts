import type { Reason } from '@sallyport/core'
import { WebSocket } from 'ws'
import type { TestServer } from './start-server.ts'
import type { Visitor } from './visitor.ts'

/** A call in a WebSocket frame. */
export interface FrameCall {
  readonly method: 'query' | 'mutation'
  readonly path: string
  readonly input?: unknown
}

/**
 * Sends calls in one frame on a separate connection. Returns the reason of each rejection, or null for an
 * accepted call.
 */
export async function callInOneFrame(
  { host }: Pick<TestServer, 'host'>,
  { headers }: Visitor,
  calls: readonly FrameCall[],
): Promise<(Reason | null)[]> {
  const socket = new WebSocket(`ws://${host}/ws`, { headers })
  const frame = calls.map(({ method, ...params }, id) => ({ id, method, params }))
  const reasons: (Reason | null)[] = []
  let answers = 0
  try {
    await new Promise((resolve, reject) => {
      socket.on('error', reject)
      socket.on('open', () => socket.send(JSON.stringify(frame)))
      socket.on('message', (message) => {
        const { id, error } = JSON.parse(String(message))
        reasons[id] = error?.data.auth.reason ?? null
        answers++
        if (answers === calls.length) resolve(undefined)
      })
    })
    return reasons
  } finally {
    socket.terminate()
  }
}
