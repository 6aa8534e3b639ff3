import { type FrameEffects, FrameQueue } from './frame-queue.ts'
import { OpenCalls } from './open-calls.ts'
import type { SocketLimits } from './socket-limits.ts'
import { hasCall, isBatch, splitBatch } from './split-frame.ts'

export interface ServerSocket {
  readonly readyState: number
  readonly bufferedAmount: number
  emit(event: string, ...args: unknown[]): boolean
  send(...args: unknown[]): void
  pause(): void
  resume(): void
  close(code: number, reason: string): void
  terminate(): void
}

export const baseEmit: unique symbol = Symbol('emit')
export const baseSend: unique symbol = Symbol('send')

/** A socket whose own `emit` and `send` enforce the limits. */
export interface LimitedSocket extends ServerSocket {
  [baseEmit](event: string, args: readonly unknown[]): boolean
  [baseSend](args: readonly unknown[]): void
}

const CLOSE_TIMEOUT_MS = 1_000
const DRAIN_CHECK_MS = 20

/** The limits of one socket. Its methods aren't closures, because a process may have thousands of sockets. */
export class SocketLimiter implements FrameEffects {
  readonly limits: SocketLimits
  readonly #socket: LimitedSocket
  readonly #frames: FrameQueue
  readonly #calls: OpenCalls
  #drained: Promise<void> | null = null
  #closing: ReturnType<typeof setTimeout> | undefined
  #deadline: ReturnType<typeof setTimeout> | undefined

  constructor(socket: LimitedSocket, limits: SocketLimits) {
    this.limits = limits
    this.#socket = socket
    this.#frames = new FrameQueue(limits, this)
    this.#calls = new OpenCalls(limits.maxSubscriptions, this)
  }

  /** Returns a promise to await before a stream reads its source; null if it may read now. */
  writable(): Promise<void> | null {
    if (this.#socket.bufferedAmount <= this.limits.pauseAboveBytes || !isOpen(this.#socket)) return null
    this.#drained ??= this.#drain()
    return this.#drained
  }

  reserveSubscription(): ReturnType<OpenCalls['reserve']> {
    return this.#calls.reserve()
  }

  /** Returns whether a query or a mutation waits for its turn or its response. */
  hasCalls(): boolean {
    return this.#calls.isWaiting || this.#frames.isWaiting
  }

  /** Returns whether that is so, or a subscription is open. */
  hasOpenCalls(): boolean {
    return this.#calls.isOpen || this.#frames.isWaiting
  }

  /** Called when the user of the socket has passed both steps. */
  authenticated(): void {
    clearTimeout(this.#deadline)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  onOverBudget(): void {
    this.#end()
  }

  stop(id: unknown): void {
    const frame = Buffer.from(JSON.stringify({ id, method: 'subscription.stop' }))
    this.#socket[baseEmit]('message', [frame, false])
  }

  emit(event: string, args: unknown[]): boolean {
    if (event === 'message') return this.#receive(args)
    if (event === 'ping' && this.#isOverBuffered()) {
      // `ws` has already sent the pong, without calling `send`.
      this.#socket.terminate()
      return true
    }
    if (event === 'ping' || event === 'pong') return this.#inTurn(event, args)
    if (event === 'open' && this.limits.authenticateWithinMs !== undefined) {
      const end = () => this.#end(4408, 'Not authenticated in time')
      this.#deadline = setTimeout(end, this.limits.authenticateWithinMs)
    }
    if (event === 'error') {
      // `ws` closes a socket that breaks the protocol, but still reads and discards what the client sends.
      this.#closing ??= setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS)
      setImmediate(() => this.#socket.pause())
    }
    if (event === 'close') {
      clearTimeout(this.#closing)
      clearTimeout(this.#deadline)
      this.#frames.close()
    }
    return this.#socket[baseEmit](event, args)
  }

  send(args: unknown[]): void {
    if (this.#isOverBuffered()) this.#socket.terminate()
    else if (this.#calls.send(args[0])) this.#socket[baseSend](args)
    else this.#end()
  }

  #isOverBuffered(): boolean {
    return this.#socket.bufferedAmount > this.limits.maxBufferedBytes
  }

  #receive(args: unknown[]): boolean {
    const [frame, isBinary] = args
    // tRPC before 11.9 also reads JSON from binary frames. Later, they have the app's own encoding.
    const isSplit = isBinary ? hasCall : isBatch
    if (!Buffer.isBuffer(frame) || !isSplit(frame)) return this.#inTurn('message', args)
    const calls = splitBatch(frame)
    let next = calls.next()
    const deliverNext = () => {
      this.#deliver('message', [next.value, isBinary])
      next = calls.next()
      return !next.done
    }
    this.#frames.add({ deliverNext, bytes: frame.length })
    return true
  }

  #inTurn(event: string, args: unknown[]): boolean {
    const [frame] = args
    const bytes = Buffer.isBuffer(frame) ? frame.length : 0
    if (this.#frames.spend(bytes)) return this.#deliver(event, args)
    const deliverNext = () => {
      this.#deliver(event, args)
      return false
    }
    this.#frames.add({ deliverNext, bytes })
    return true
  }

  #deliver(event: string, args: unknown[]): boolean {
    // Frames after our close frame aren't handled.
    if (!isOpen(this.#socket)) return false
    const [frame] = args
    const isCall = event === 'message' && Buffer.isBuffer(frame)
    if (!isCall || this.#calls.receive(frame)) return this.#socket[baseEmit](event, args)
    this.#end()
    return false
  }

  async #drain(): Promise<void> {
    while (this.#socket.bufferedAmount > this.limits.pauseAboveBytes && isOpen(this.#socket))
      await new Promise((resolve) => setTimeout(resolve, DRAIN_CHECK_MS))
    this.#drained = null
  }

  /** Closes the socket with 4000 plus an HTTP status, and terminates it if the client doesn't close it. */
  #end(code = 4429, reason = 'RATE_LIMITED'): void {
    if (this.#closing !== undefined) return
    if (code === 4429) this.limits.onLimited?.()
    this.#frames.discard()
    this.#closing = setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS)
    this.#socket.close(code, reason)
  }
}

/** Returns whether neither side has begun to close a WebSocket. */
export function isOpen({ readyState }: { readonly readyState: number }): boolean {
  return readyState === 1
}
