import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'
import { WebSocket } from 'ws'
import * as z from 'zod'
import { type Answer, answerOf, noAnswer, rejection, rejectionOf } from './answer.ts'
import { BASE_URL } from './node-settings.ts'
import type { SignedIn } from './signed-in-users.ts'
import type { Node } from './start-nodes.ts'
import { createRecord, type LiveStream, type StreamRecord } from './stream-record.ts'

const agent = new Agent({ keepAlive: true })
const headersOf = ({ cookie }: SignedIn) => ({ cookie, origin: BASE_URL })

/** Calls `me` over HTTP. */
export function callOverHttp({ host }: Node, caller: SignedIn): Promise<Answer> {
  return new Promise((resolve) => {
    const fail = (error: Error) => resolve(noAnswer(error.message))
    get(`http://${host}/trpc/me`, { agent, headers: headersOf(caller) }, (response) => {
      text(response).then((json) => resolve(answerOf(JSON.parse(json), caller.userId)), fail)
    }).on('error', fail)
  })
}

/** Opens a stream over server-sent events, waits for its first event, and leaves. */
export async function callOverEvents(node: Node, caller: SignedIn): Promise<Answer> {
  const stream = subscribeOverEvents(node, caller)
  const answer = await stream.begun
  stream.close()
  return answer
}

/** Opens the clock over server-sent events. */
export function subscribeOverEvents({ host }: Node, caller: SignedIn): LiveStream {
  const record = createRecord(caller)
  const headers = { ...headersOf(caller), accept: 'text/event-stream' }
  // A separate connection, which ends with the stream.
  const request = get(`http://${host}/trpc/clock`, { agent: false, headers }, (response) => {
    let unread = ''
    response.setEncoding('utf8').on('data', (chunk: string) => {
      const events = (unread + chunk).split('\n\n')
      unread = events.pop() ?? ''
      for (const event of events) hearEvent(event, record)
    })
    response.on('end', () => record.end(noAnswer('the connection ended')))
    response.on('error', (error) => record.end(noAnswer(error.message)))
  })
  request.on('error', (error) => record.end(noAnswer(error.message)))
  return { ...record.stream, close: () => void request.destroy() }
}

function hearEvent(event: string, record: StreamRecord): void {
  const type = /^event: (.*)$/m.exec(event)?.[1]
  const data = /^data: (.*)$/m.exec(event)?.[1]
  if (data === undefined || type === 'connected' || type === 'ping') return
  if (type === 'serialized-error') record.end(rejectionOf(JSON.parse(data)))
  else if (type === 'return') record.end(noAnswer('it just ended'))
  else record.value(JSON.parse(data))
}

/** A WebSocket connection. */
export interface Socket {
  /** Calls `me`. */
  call(): Promise<Answer>
  /** Opens the clock. */
  subscribe(): LiveStream
  close(): void
}

const message = z.union([
  z.object({ id: z.number(), error: rejection }),
  z.object({ id: z.number(), result: z.object({ type: z.enum(['started', 'stopped']) }) }),
  z.object({ id: z.number(), result: z.object({ data: z.unknown() }) }),
])
type Message = z.infer<typeof message>

/** Connects over WebSocket. */
export async function openSocket({ host }: Node, caller: SignedIn): Promise<Socket> {
  const socket = new WebSocket(`ws://${host}/ws`, { headers: headersOf(caller) })
  const listeners = new Map<number, (message: Message | { closed: number }) => void>()
  let lastId = 0
  socket.on('message', (data) => {
    if (String(data) === 'PING') return socket.send('PONG')
    const parsed = message.safeParse(JSON.parse(String(data)))
    // Anything else is a request to reconnect.
    if (parsed.success) listeners.get(parsed.data.id)?.(parsed.data)
  })
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => {
      for (const listener of listeners.values()) listener({ closed: code })
      resolve(code)
    })
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  // Every error is followed by a close event.
  socket.on('error', () => {})

  function send(
    method: 'query' | 'subscription',
    path: string,
    listener: (message: Message | { closed: number }) => void,
  ): number {
    const id = ++lastId
    listeners.set(id, listener)
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id, method, params: { path } }))
    else void closed.then((code) => listener({ closed: code }))
    return id
  }

  const closedBy = (code: number) => noAnswer(`closed ${code}`)
  return {
    call: () =>
      new Promise((resolve) => {
        const id = send('query', 'me', (answer) => {
          listeners.delete(id)
          resolve('closed' in answer ? closedBy(answer.closed) : answerOf(answer, caller.userId))
        })
      }),
    subscribe() {
      const record = createRecord(caller)
      send('subscription', 'clock', (answer) => {
        if ('closed' in answer) record.end(closedBy(answer.closed))
        else if ('error' in answer) record.end(rejectionOf(answer.error))
        else if ('data' in answer.result) record.value(answer.result.data)
        else if (answer.result.type === 'stopped') record.end(noAnswer('it just ended'))
      })
      void closed.then(record.closeSocket)
      return { ...record.stream, close: () => socket.close() }
    },
    close: () => socket.close(),
  }
}
