import { EventEmitter } from 'node:events'

/** Numbers that every open stream emits. */
export interface Ticks {
  readonly emitter: EventEmitter
  readonly latest: number
  tick(): void
}

export function createTicks(): Ticks {
  const emitter = new EventEmitter().setMaxListeners(0)
  let latest = 0
  return {
    emitter,
    get latest() {
      return latest
    },
    tick() {
      latest++
      emitter.emit('tick')
    },
  }
}
