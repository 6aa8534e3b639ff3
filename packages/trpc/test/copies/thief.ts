import type { Identity } from '@sallyport/core'
import { WebSocket } from 'ws'
import { ORIGIN } from '../support/visitor.ts'
import type { CopiesApp } from './open-app.ts'
import { sessionHeader } from './owner.ts'

/** The session of the copied credentials, as the history knows it. */
export interface KnownSession {
  readonly id: string
  /** How many of the owner's proofs were acknowledged. */
  proofs: number
  isEnded: boolean
}

/** Credentials that a thief copied. */
export interface Copy {
  readonly session: KnownSession
  /** Proofs before the copy was made. After one more, the copy is worthless. */
  readonly proofs: number
  readonly transport: 'cookie' | 'bearer'
  readonly token: string
  /** The session cookie, or a program's session token. */
  readonly secret: string
  /** The JWT's identity, which a node may keep for longer than the JWT is valid. */
  readonly identity: Identity
  readonly socket: CopiedSocket
  readonly stream: CopiedStream
}

/** Returns whether the session must reject the copy. */
export const isOld = ({ session, proofs }: Copy): boolean => session.isEnded || proofs < session.proofs

/** The address of the thief's requests. */
export const THIEF_ADDRESS = '203.0.113.66'

/** Returns the headers of the thief's requests, except to auth endpoints. */
export function headersOf({ config }: CopiesApp, { transport, token, secret }: Credentials) {
  const { jwt, session } = config.cookies
  const from = { 'x-forwarded-for': THIEF_ADDRESS, 'x-sallyport': '1' }
  if (transport === 'bearer') return { ...from, authorization: `Bearer ${token}` }
  return { ...from, origin: ORIGIN, cookie: `${jwt}=${token}; ${session}=${secret}` }
}

/** Returns headers with the session secret, which only auth endpoints get. */
export function endpointHeadersOf(app: CopiesApp, credentials: Credentials) {
  const isBearer = credentials.transport === 'bearer'
  return { ...headersOf(app, credentials), ...(isBearer && sessionHeader(credentials.secret)) }
}

type Credentials = Pick<Copy, 'transport' | 'token' | 'secret'>

/** Returns the reason in a server's message. */
export const reasonIn = (text: string): string | null =>
  (/"reason":"([A-Z_]+)"/.exec(text) ?? /"code":"([A-Z_]+)"/.exec(text))?.[1] ?? null

/** A socket that was opened with a copy. */
export interface CopiedSocket {
  readonly ticks: readonly number[]
  /** Null while it is open. */
  closeCode(): number | null
  /** Calls a procedure. Resolves to `accepted`, `closed`, or the reason of the rejection. */
  call(path: string, options?: { method?: 'query' | 'mutation'; input?: object }): Promise<string>
  close(): void
}

/** Opens a socket and, with `watch`, its stream. */
export async function openCopiedSocket(
  app: CopiesApp,
  credentials: Credentials,
  { watch }: { watch: boolean },
): Promise<CopiedSocket> {
  const isBearer = credentials.transport === 'bearer'
  const url = `ws://${app.host}/ws${isBearer ? '?connectionParams=1' : ''}`
  const headers = { origin: ORIGIN, 'x-forwarded-for': THIEF_ADDRESS }
  const socket = new WebSocket(url, { headers: isBearer ? headers : headersOf(app, credentials) })
  const ticks: number[] = []
  const waiting = new Map<number, (answer: string) => void>()
  let closeCode: number | null = null
  let id = 1
  socket.on('message', (data) => {
    const text = String(data)
    const { id: answered, result } = JSON.parse(text)
    if (result?.type === 'data' && answered === 1) ticks.push(Number(result.data?.data))
    else {
      waiting.get(answered)?.(reasonIn(text) ?? 'accepted')
      waiting.delete(answered)
    }
  })
  socket.on('close', (code) => {
    closeCode = code
    for (const settle of waiting.values()) settle('closed')
  })
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('open', resolve).once('close', resolve))
  const send = (message: object) => socket.send(JSON.stringify(message))
  if (isBearer) send({ method: 'connectionParams', data: { token: credentials.token } })

  function answerTo(message: { id: number; method: string; params: object }): Promise<string> {
    if (closeCode !== null || socket.readyState !== WebSocket.OPEN) return Promise.resolve('closed')
    return new Promise((resolve) => {
      waiting.set(message.id, resolve)
      send(message)
    })
  }

  if (watch) await answerTo({ id: 1, method: 'subscription', params: { path: 'ticks' } })
  return {
    ticks,
    closeCode: () => closeCode,
    call: (path, { method = 'query', input } = {}) =>
      answerTo({ id: ++id, method, params: { path, ...(input && { input }) } }),
    close: () => socket.terminate(),
  }
}

/** A stream of server-sent events that was opened with a copy. */
export interface CopiedStream {
  readonly ticks: readonly number[]
  /** `accepted` once it is open, or the reason of the rejection. */
  readonly begun: string
  close(): void
}

export async function openCopiedStream(app: CopiesApp, credentials: Credentials): Promise<CopiedStream> {
  const aborter = new AbortController()
  const ticks: number[] = []
  const response = await fetch(`http://${app.host}/trpc/ticks`, {
    headers: { ...headersOf(app, credentials), accept: 'text/event-stream' },
    signal: aborter.signal,
  })
  const decoder = new TextDecoder()
  const begun = new Promise<string>((resolve) => {
    const write = (chunk: Uint8Array) => {
      const text = decoder.decode(chunk, { stream: true })
      for (const data of text.matchAll(/^data: ?(\d+)$/gm)) ticks.push(Number(data[1]))
      resolve(reasonIn(text) ?? 'accepted')
    }
    const done = response.body?.pipeTo(new WritableStream({ write }))
    done?.then(
      () => resolve('ended'),
      () => resolve('closed'),
    )
  })
  return { ticks, begun: await begun, close: () => aborter.abort() }
}
