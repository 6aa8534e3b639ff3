import { WebSocket } from 'ws'
import type { Random } from '../../../core/test/hostile/random.ts'

/** One call of each kind. */
export const CALLS: readonly { id: number; method: string; params: { path: string } }[] = [
  { id: 1, method: 'query', params: { path: 'read' } },
  { id: 1, method: 'mutation', params: { path: 'write' } },
  { id: 1, method: 'subscription', params: { path: 'watch' } },
]

/**
 * Messages that aren't a call, or are too many: text, a frame over 64 KB, 21 calls, members of the wrong
 * type.
 */
const ABUSES: readonly string[] = [
  ...['', '{', '[', 'null', '[[1]]', '{"id":{},"method":"query"}', '{"id":1,"method":"__proto__"}'],
  'x'.repeat(70_000),
  JSON.stringify(Array(21).fill(CALLS[0])),
  JSON.stringify({ method: 'connectionParams', data: ['token'] }),
]

/** A message on a separate connection, and where that connection has its token. */
export interface SocketCall {
  readonly token: string
  readonly message: string
  readonly isInCookie: boolean
}

/**
 * Creates a call with a token in the cookie or in the connection parameters. Some messages aren't calls at
 * all.
 */
export function createSocketCall(token: string, random: Random): SocketCall {
  const message = random.chance(0.95) ? JSON.stringify(random.pick(CALLS)) : random.pick(ABUSES)
  // This client can't send other text in a header. The connection parameters take any text.
  const isHeader = /^[\t\x20-\x7e\x80-\xff]*$/.test(token)
  return { token, message, isInCookie: isHeader && random.chance(0.5) }
}

/**
 * Sends the message and returns the result: the error's code, `rejected` with the upgrade's status, `closed`,
 * or `answered`.
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
