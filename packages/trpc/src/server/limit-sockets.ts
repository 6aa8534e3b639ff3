import { FrameQueue } from './frame-queue.ts'
import { OpenCalls } from './open-calls.ts'
import type { SocketLimits } from './socket-limits.ts'
import { isBatch, splitBatch } from './split-frame.ts'

const socketLimiter: unique symbol = Symbol.for('sallyport.socketLimiter') as never

export interface SocketLimiter {
  readonly limits: SocketLimits
  /** Returns a promise to await before a stream reads its source; null if it may read now. */
  writable(): Promise<void> | null
  readonly reserveSubscription: OpenCalls['reserve']
  /** Returns whether a query or a mutation waits for its turn or its response. */
  hasCalls(): boolean
  /** Returns whether that is so, or a subscription is open. */
  hasOpenCalls(): boolean
  /** Called when the user of the socket has passed both steps. */
  authenticated(): void
}

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

export interface LimitedSocket extends SocketLimits {
  /** Called when a socket is closed because its client sends too much. */
  readonly onLimited?: () => void
}

export type SocketClass = new (...args: never[]) => ServerSocket

const CLOSE_TIMEOUT_MS = 1_000
const DRAIN_CHECK_MS = 20

/** Returns whether neither side has begun to close a WebSocket. */
export function isOpen({ readyState }: { readonly readyState: number }): boolean {
  return readyState === 1
}

/** Returns the limits of a socket of a class from {@link limitSockets}; undefined for any other. */
export function limiterOf(socket: object): SocketLimiter | undefined {
  return socketLimiter in socket ? (socket[socketLimiter] as SocketLimiter) : undefined
}

/** Returns a subclass that enforces the limits before any listener is called. */
export function limitSockets(Base: SocketClass, limits: LimitedSocket): SocketClass {
  return class extends Base {
    readonly #frames = new FrameQueue(limits, {
      pause: () => this.pause(),
      resume: () => this.resume(),
      onOverBudget: () => this.#end(),
    })
    readonly #calls = new OpenCalls(limits.maxSubscriptions, (id) =>
      super.emit('message', Buffer.from(JSON.stringify({ id, method: 'subscription.stop' })), false),
    )
    #drained: Promise<void> | null = null
    #closing: ReturnType<typeof setTimeout> | undefined
    #deadline: ReturnType<typeof setTimeout> | undefined

    get [socketLimiter](): SocketLimiter {
      return {
        limits,
        writable: () => this.#writable(),
        reserveSubscription: () => this.#calls.reserve(),
        hasCalls: () => this.#calls.isWaiting || this.#frames.isWaiting,
        hasOpenCalls: () => this.#calls.isOpen || this.#frames.isWaiting,
        authenticated: () => clearTimeout(this.#deadline),
      }
    }

    override emit(event: string, ...args: unknown[]): boolean {
      if (event === 'message') return this.#receive(args)
      if (event === 'ping' || event === 'pong') return this.#inTurn(event, args)
      if (event === 'open' && limits.authenticateWithinMs !== undefined) {
        const end = () => this.#end(4408, 'Not authenticated in time')
        this.#deadline = setTimeout(end, limits.authenticateWithinMs)
      }
      if (event === 'error') {
        // `ws` closes a socket that breaks the protocol, but still reads and discards what the client sends.
        this.#closing ??= setTimeout(() => this.terminate(), CLOSE_TIMEOUT_MS)
        setImmediate(() => this.pause())
      }
      if (event === 'close') {
        clearTimeout(this.#closing)
        clearTimeout(this.#deadline)
        this.#frames.close()
      }
      return super.emit(event, ...args)
    }

    override send(...args: unknown[]): void {
      if (this.bufferedAmount > limits.maxBufferedBytes) this.terminate()
      else if (this.#calls.send(args[0])) super.send(...args)
      else this.#end()
    }

    #receive(args: unknown[]): boolean {
      const [frame, isBinary] = args
      if (isBinary || !Buffer.isBuffer(frame) || !isBatch(frame)) return this.#inTurn('message', args)
      const calls = splitBatch(frame)
      let next = calls.next()
      const deliverNext = () => {
        if (next.done) return false
        this.#deliver('message', [next.value, false])
        next = calls.next()
        return !next.done
      }
      if (!next.done) this.#frames.add(deliverNext)
      return true
    }

    #inTurn(event: string, args: unknown[]): boolean {
      if (this.#frames.spend()) return this.#deliver(event, args)
      this.#frames.add(() => {
        this.#deliver(event, args)
        return false
      })
      return true
    }

    #deliver(event: string, args: unknown[]): boolean {
      // Frames after our close frame aren't handled.
      if (!isOpen(this)) return false
      const [frame, isBinary] = args
      const isCall = event === 'message' && !isBinary && Buffer.isBuffer(frame)
      if (!isCall || this.#calls.receive(frame)) return super.emit(event, ...args)
      this.#end()
      return false
    }

    #writable(): Promise<void> | null {
      if (this.bufferedAmount <= limits.pauseAboveBytes || !isOpen(this)) return null
      this.#drained ??= this.#drain()
      return this.#drained
    }

    async #drain(): Promise<void> {
      while (this.bufferedAmount > limits.pauseAboveBytes && isOpen(this))
        await new Promise((resolve) => setTimeout(resolve, DRAIN_CHECK_MS))
      this.#drained = null
    }

    /** Closes the socket with 4000 plus an HTTP status, and terminates it if the client doesn't close it. */
    #end(code = 4429, reason = 'RATE_LIMITED'): void {
      if (this.#closing !== undefined) return
      if (code === 4429) limits.onLimited?.()
      this.#frames.discard()
      this.#closing = setTimeout(() => this.terminate(), CLOSE_TIMEOUT_MS)
      this.close(code, reason)
    }
  }
}
