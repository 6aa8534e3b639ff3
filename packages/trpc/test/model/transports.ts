import { isAuthError } from '@sallyport/core'
import { authHandlerOptions, authResponseMeta } from '@sallyport/trpc'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { WebSocket } from 'ws'
import { ORIGIN } from '../support/visitor.ts'
import type { Node } from './open-system.ts'
import { createCaller, router } from './router.ts'

/** The id of the caller's session, or the reason of the rejection. */
export type Answer = string

export interface Caller {
  readonly cookie: string
  readonly address: string
}

const reasonIn = (text: string) => /"reason":"(\w+)"/.exec(text)?.[1]
const idIn = (text: string) => /(?:"data":|^data: )"([\w-]{36})"/m.exec(text)?.[1]

/** Every way to call a procedure. Only sockets need a connection. */
export const TRANSPORTS = {
  HTTP: async (node, caller) => answerIn(await (await request(node, caller, 'read')).text()),
  async batch(node, caller) {
    const response = await request(node, caller, 'read,read?batch=1&input=%7B%7D')
    const answers: unknown[] = await response.json()
    const [first, second] = answers.map((answer) => answerIn(JSON.stringify(answer)))
    return first === second && answers.length === 2 ? String(first) : `${first} and ${second}`
  },
  mutation: async (node, caller) => answerIn(await (await request(node, caller, 'write', 'POST')).text()),
  async events(node, caller) {
    const response = await request(node, caller, 'watch')
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      // Ends the stream.
      if (reasonIn(text) ?? idIn(text)) break
    }
    return answerIn(text)
  },
  async socket(node, caller) {
    const socket = await openSocket(node, caller)
    const answer = await socket.read()
    socket.close()
    return answer
  },
  createCaller: (node, { cookie, address }) =>
    caught(() => {
      const headers = { cookie, origin: ORIGIN }
      return createCaller({
        ...node.contexts.headers(headers, { remoteAddress: address }),
        db: node.db,
      }).read()
    }),
} as const satisfies Record<string, (node: Node, caller: Caller) => Promise<Answer>>

export type Transport = keyof typeof TRANSPORTS

function answerIn(text: string): Answer {
  return reasonIn(text) ?? idIn(text) ?? `no answer: ${text}`
}

export async function caught(call: () => Promise<string>): Promise<Answer> {
  try {
    return await call()
  } catch (error) {
    const { cause }: { cause?: unknown } = Object(error)
    const reason = [error, cause].find(isAuthError)?.reason
    if (reason === undefined) throw error
    return reason
  }
}

function request(
  { contexts, db }: Node,
  { cookie, address }: Caller,
  path: string,
  method = 'GET',
): Promise<Response> {
  const kind = path === 'watch' ? { accept: 'text/event-stream' } : { 'content-type': 'application/json' }
  return fetchRequestHandler({
    router,
    endpoint: '/trpc',
    req: new Request(`${ORIGIN}/trpc/${path}`, { method, headers: { cookie, origin: ORIGIN, ...kind } }),
    createContext: (o) => ({ ...contexts.http({ ...o, remoteAddress: address }), db }),
    responseMeta: authResponseMeta,
    ...authHandlerOptions,
  })
}

/** A connection, whose identity is that of its handshake. */
export interface Socket {
  /** Resolves to `closed` if the server has closed it. */
  read(): Promise<Answer>
  close(): void
}

export async function openSocket({ host }: Node, { cookie, address }: Caller): Promise<Socket> {
  const headers = { cookie, origin: ORIGIN, 'x-forwarded-for': address }
  const socket = new WebSocket(`ws://${host}/`, { headers })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.on('error', () => {})
  let id = 0
  return {
    read() {
      id++
      if (socket.readyState !== WebSocket.OPEN) return Promise.resolve('closed')
      return new Promise((resolve) => {
        const end = () => resolve('closed')
        const receive = (data: unknown) => {
          const text = String(data)
          if (JSON.parse(text).id !== id) return
          socket.off('message', receive).off('close', end)
          resolve(answerIn(text))
        }
        socket.on('message', receive).on('close', end)
        socket.send(JSON.stringify({ id, method: 'query', params: { path: 'read' } }))
      })
    },
    close: () => socket.terminate(),
  }
}
