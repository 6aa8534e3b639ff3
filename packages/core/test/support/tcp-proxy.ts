import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { onTestFinished } from 'vitest'

/** A proxy that can delay connections to a server. */
export interface TcpProxy {
  readonly port: number
  /** Connection attempts so far. */
  readonly attempts: number
  /** Open connections. */
  readonly connections: number
  /** The maximum number of concurrent connection attempts. */
  readonly mostUnanswered: number
  /** Accepts no new connection. Open ones continue. */
  hold(): void
  /** Accepts waiting and new connections. */
  release(): void
  /** Rejects new connections until {@link release}. */
  reject(): void
  /** Holds the server's responses back, until {@link resumeAnswers}. */
  pauseAnswers(): void
  resumeAnswers(): void
  /** Closes all open connections. */
  cut(): void
}

/** The type of PostgreSQL's error message, such as one from a server that is starting. */
const ERROR_RESPONSE = 'E'.charCodeAt(0)

/** PostgreSQL's message when a connection is ready. */
const READY = 'Z\0\0\0\x05I'

/**
 * Runs a proxy between a test and a server until the test ends.
 *
 * @param options.delayMs how much later bytes arrive, in each direction
 */
export async function startProxy(target: number, { delayMs = 0 } = {}): Promise<TcpProxy> {
  const open = new Set<Socket>()
  /** Connects the two ends of a connection again. */
  const onResume = new Map<Socket, () => void>()
  let isPaused = false
  const waiting: (() => void)[] = []
  let mode: 'pass' | 'hold' | 'reject' = 'pass'
  let attempts = 0
  const unanswered = new Set<Socket>()
  let mostUnanswered = 0

  function pass(client: Socket): void {
    const server = connect(target, '127.0.0.1')
    open.add(server)
    server.on('error', () => client.destroy())
    server.on('close', () => {
      open.delete(server)
      onResume.delete(server)
      client.destroy()
    })
    server.on('data', (data) => {
      if (data.includes(READY) || data[0] === ERROR_RESPONSE) unanswered.delete(client)
    })
    client.on('close', () => server.destroy())
    if (delayMs > 0) {
      client.pipe(delayed(delayMs)).pipe(server)
      server.pipe(delayed(delayMs)).pipe(client)
      return
    }
    client.pipe(server).pipe(client)
    if (isPaused) server.unpipe(client).pause()
    onResume.set(server, () => server.pipe(client))
  }

  const proxy = createServer((client) => {
    attempts++
    mostUnanswered = Math.max(mostUnanswered, unanswered.add(client).size)
    open.add(client)
    client.on('error', () => {})
    client.on('close', () => {
      open.delete(client)
      unanswered.delete(client)
    })
    if (mode === 'reject') client.destroy()
    else if (mode === 'hold') waiting.push(() => pass(client))
    else pass(client)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    proxy.close()
    for (const socket of open) socket.destroy()
  })
  return {
    port: (proxy.address() as AddressInfo).port,
    get attempts() {
      return attempts
    },
    get connections() {
      return open.size
    },
    get mostUnanswered() {
      return mostUnanswered
    },
    hold: () => {
      mode = 'hold'
    },
    reject: () => {
      mode = 'reject'
    },
    release() {
      mode = 'pass'
      for (const go of waiting.splice(0)) go()
    },
    pauseAnswers() {
      isPaused = true
      for (const server of onResume.keys()) server.unpipe().pause()
    },
    resumeAnswers() {
      isPaused = false
      for (const join of onResume.values()) join()
    },
    cut() {
      for (const socket of open) socket.destroy()
    },
  }
}

/** Passes bytes on later, like a long line: in order, and without limiting how many are on their way. */
function delayed(delayMs: number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      setTimeout(() => this.push(chunk), delayMs)
      done()
    },
    flush(done) {
      setTimeout(done, delayMs)
    },
  })
}
