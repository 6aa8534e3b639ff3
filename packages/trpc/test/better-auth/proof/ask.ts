import { TRPCError } from '@trpc/server'
import { WebSocket } from 'ws'
import * as z from 'zod'
import { toRejection } from '../../support/outcome.ts'
import type { ProofApp } from './open-app.ts'

export type Headers = Readonly<Record<string, string>>

/** `userId/sessionId`, or why the call was rejected. */
export type Answer = string

/** A subscription. */
export interface Watched {
  readonly first: Promise<Answer>
  /** Why it ended. */
  readonly ended: Promise<string>
}

const body = z.union([
  z.object({ result: z.object({ data: z.string() }) }),
  z.object({ error: z.object({ message: z.string(), data: z.unknown() }) }),
])

const reasonSchema = z.object({ auth: z.object({ reason: z.string() }) })

function toReason(error: { readonly message: string; readonly data: unknown }): string {
  const parsed = reasonSchema.safeParse(error.data)
  return parsed.success ? parsed.data.auth.reason : error.message
}

function toAnswer(json: unknown): Answer {
  const parsed = body.parse(json)
  return 'error' in parsed ? toReason(parsed.error) : parsed.result.data
}

/** Each new path to a procedure. All must agree. */
export const PATHS: Readonly<Record<string, (app: ProofApp, headers: Headers) => Promise<Answer>>> = {
  async HTTP({ host }, headers) {
    const response = await fetch(`http://${host}/trpc/me`, { headers })
    return toAnswer(await response.json())
  },
  async batch({ host }, headers) {
    const response = await fetch(`http://${host}/trpc/me,me?batch=1`, { headers })
    const answers = z
      .array(z.unknown())
      .parse(await response.json())
      .map(toAnswer)
    return [...new Set(answers)].join(' and ')
  },
  async SSE(app, headers) {
    const page = new AbortController()
    const { first } = await watchOverEvents(app, headers, page.signal)
    const answer = await first
    page.abort()
    return answer
  },
  async WebSocket(app, headers) {
    const socket = await openSocket(app, headers)
    const answer = await socket.ask()
    socket.close()
    return answer
  },
  async render(app, headers) {
    try {
      return await app.render(headers)
    } catch (error) {
      if (!(error instanceof TRPCError)) throw error
      const { auth, message } = toRejection(error)
      return auth?.reason ?? message
    }
  },
}

function watched() {
  const first = Promise.withResolvers<Answer>()
  const ended = Promise.withResolvers<string>()
  return {
    watched: { first: first.promise, ended: ended.promise },
    value: first.resolve,
    end(reason: string) {
      first.resolve(reason)
      ended.resolve(reason)
    },
  }
}

/** Subscribes over server-sent events. */
export async function watchOverEvents(
  { host }: ProofApp,
  headers: Headers,
  signal?: AbortSignal,
): Promise<Watched> {
  const { watched: stream, value, end } = watched()
  const accept = 'text/event-stream'
  const response = await fetch(`http://${host}/trpc/watch`, {
    headers: { ...headers, accept },
    signal: signal ?? null,
  })
  function receive(event: string): void {
    const type = /^event: (.*)$/m.exec(event)?.[1]
    const data = /^data: (.*)$/m.exec(event)?.[1] ?? ''
    if (type === undefined && data !== '') value(z.string().parse(JSON.parse(data)))
    if (type === 'serialized-error') end(toAnswer({ error: JSON.parse(data) }))
  }
  async function read(): Promise<void> {
    let unread = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      const events = (unread + decoder.decode(chunk, { stream: true })).split('\n\n')
      unread = events.pop() ?? ''
      events.forEach(receive)
    }
    if (unread !== '') end(toAnswer(JSON.parse(unread)))
    end('completed')
  }
  read().catch((error: unknown) => end(String(error)))
  return stream
}

/** A WebSocket connection. */
export interface Socket {
  ask(): Promise<Answer>
  watch(): Watched
  close(): void
}

export async function openSocket({ host }: ProofApp, headers: Headers): Promise<Socket> {
  const socket = new WebSocket(`ws://${host}/`, { headers })
  const listeners = new Map<number, (message: object) => void>()
  const closed = Promise.withResolvers<Answer>()
  let lastId = 0
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.on('message', (data) => {
    const message = JSON.parse(String(data))
    listeners.get(message.id)?.(message)
  })
  socket.on('close', (code, reason) => closed.resolve(`closed ${code} ${reason}`))

  function send(method: 'query' | 'subscription', path: string, listener: (message: object) => void): void {
    lastId++
    listeners.set(lastId, listener)
    socket.send(JSON.stringify({ id: lastId, method, params: { path } }))
  }
  return {
    ask() {
      const answer = new Promise<Answer>((resolve) => {
        send('query', 'me', (message) => resolve(toAnswer(message)))
      })
      return Promise.race([answer, closed.promise])
    },
    watch() {
      const { watched: stream, value, end } = watched()
      void closed.promise.then(end)
      send('subscription', 'watch', (message) => {
        const { success, data } = lifecycle.safeParse(message)
        if (success && data.result.type === 'stopped') end('completed')
        else if (success && data.result.type === 'started') return
        else if ('error' in message) end(toAnswer(message))
        else value(toAnswer(message))
      })
      return stream
    },
    close: () => socket.terminate(),
  }
}

const lifecycle = z.object({ result: z.object({ type: z.string() }) })
