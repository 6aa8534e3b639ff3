import { WebSocket } from 'ws'
import type { Random } from '../../../core/test/hostile/random.ts'

/** A call of each kind. */
export const CALLS: readonly { id: number; method: string; params: { path: string } }[] = [
  { id: 1, method: 'query', params: { path: 'read' } },
  { id: 1, method: 'mutation', params: { path: 'write' } },
  { id: 1, method: 'subscription', params: { path: 'watch' } },
]

/** Messages that are no call, or too many: text, a frame of more than 64 KB, 21 calls, members of the wrong type. */
const ABUSES: readonly string[] = [
  ...['', '{', '[', 'null', '[[1]]', '{"id":{},"method":"query"}', '{"id":1,"method":"__proto__"}'],
  'x'.repeat(70_000),
  JSON.stringify(Array(21).fill(CALLS[0])),
  JSON.stringify({ method: 'connectionParams', data: ['token'] }),
]

/** One message on a connection of its own, and where that connection has its token. */
export interface SocketCall {
  readonly token: string
  readonly message: string
  readonly isInCookie: boolean
}

/** A call that carries a token in the cookie or in the connection parameters; now and then no call at all. */
export function createSocketCall(token: string, random: Random): SocketCall {
  const message = random.chance(0.95) ? JSON.stringify(random.pick(CALLS)) : random.pick(ABUSES)
  // No other text can be sent in a header by this client; the connection parameters take any.
  const isHeader = /^[\t\x20-\x7e\x80-\xff]*$/.test(token)
  return { token, message, isInCookie: isHeader && random.chance(0.5) }
}

/**
 * Sends the message and returns what came of it: the code of the error, `rejected` with the status of the upgrade, `closed`, or
 * `answered`.
 */
export function callOverSocket(port: number, { token, message, isInCookie }: SocketCall): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${isInCookie ? '' : '?connectionParams=1'}`, {
    origin: 'http://localhost:3000',
    ...(isInCookie && { headers: { cookie: `service.jwt=${token}` } }),
  })
  return new Promise((resolve) => {
    const settle = (outcome: string) => {
      resolve(outcome)
      socket.terminate()
    }
    socket.on('open', () => {
      if (!isInCookie) socket.send(JSON.stringify({ method: 'connectionParams', data: { token } }))
      socket.send(message)
    })
    socket.on('message', (answer) => settle(codeOf(String(answer))))
    socket.on('unexpected-response', (_request, { statusCode }) => settle(`rejected ${statusCode}`))
    socket.on('close', () => settle('closed'))
    socket.on('error', () => settle('closed'))
  })
}

function codeOf(answer: string): string {
  return /"code":"([A-Z_]+)"/.exec(answer)?.[1] ?? 'answered'
}
