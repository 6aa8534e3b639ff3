import { baseEmit, baseSend, type LimitedSocket, type ServerSocket, SocketLimiter } from './socket-limiter.ts'
import type { SocketLimits } from './socket-limits.ts'

const socketLimiter: unique symbol = Symbol.for('sallyport.socketLimiter') as never

export type SocketClass = new (...args: never[]) => ServerSocket

/** Returns the limits of a socket of a class from {@link limitSockets}; undefined for any other. */
export function limiterOf(socket: object): SocketLimiter | undefined {
  return socketLimiter in socket ? (socket[socketLimiter] as SocketLimiter) : undefined
}

/** Returns a subclass that enforces the limits before any listener is called. */
export function limitSockets(Base: SocketClass, limits: SocketLimits): SocketClass {
  return class extends Base implements LimitedSocket {
    readonly [socketLimiter]: SocketLimiter = new SocketLimiter(this, limits)

    override emit(event: string, ...args: unknown[]): boolean {
      return this[socketLimiter].emit(event, args)
    }

    override send(...args: unknown[]): void {
      this[socketLimiter].send(args)
    }

    [baseEmit](event: string, args: readonly unknown[]): boolean {
      return super.emit(event, ...args)
    }

    [baseSend](args: readonly unknown[]): void {
      super.send(...args)
    }
  }
}
