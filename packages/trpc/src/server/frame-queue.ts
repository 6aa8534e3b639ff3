import type { SocketLimits } from './socket-limits.ts'

export interface FrameEffects {
  pause(): void
  resume(): void
  onOverBudget(): void
}

interface Frame {
  /** Handles one call, and returns if more wait. */
  readonly deliverNext: () => boolean
  /** Bytes that the budget hasn't counted yet. */
  readonly bytes: number
}

const WINDOW_MS = 100

/** So many bytes of a frame count as a call: a large input takes as long to parse as many small ones. */
const BYTES_PER_CALL = 8 * 1024

/** The most time over budget that one window adds: a server that was paused must not close its clients. */
const MAX_COUNTED_MS = 2 * WINDOW_MS

/**
 * Enforces the frame budget of one socket. Over budget, reading pauses and parsed frames wait: one chunk can
 * hold thousands. A timer ends each window: by the clock, a slow machine would handle a chunk in one turn.
 */
export class FrameQueue {
  readonly #limits: SocketLimits
  readonly #effects: FrameEffects
  #waiting: Frame[] = []
  #spent = 0
  #isOver = false
  /** How long the socket has been over its budget without a break. */
  #overMs = 0
  #windowStart = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isDiscarding = false

  constructor(limits: SocketLimits, effects: FrameEffects) {
    this.#limits = limits
    this.#effects = effects
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Spends one call of the budget, and more for a large frame; returns false if the frame must wait. */
  spend(bytes: number): boolean {
    if (this.#isOver || this.#spent >= this.#limits.framesPer100Ms) return false
    this.#spent += 1 + Math.floor(bytes / BYTES_PER_CALL)
    if (this.#timer === undefined) {
      this.#windowStart = performance.now()
      this.#timer = setTimeout(() => this.#endWindow(), WINDOW_MS)
    }
    return true
  }

  /** Handles the calls of a frame within the budget. */
  add({ deliverNext, bytes }: Frame): void {
    let uncounted = bytes
    for (; this.spend(uncounted); uncounted = 0) if (this.#isDiscarding || !deliverNext()) return
    if (!this.#isDiscarding) this.#waiting.push({ deliverNext, bytes: uncounted })
    if (this.#isOver) return
    this.#isOver = true
    this.#effects.pause()
  }

  /** Drops the waiting frames and all that follow. Reading still pauses if there are too many. */
  discard(): void {
    this.#isDiscarding = true
    this.#waiting = []
  }

  close(): void {
    this.discard()
    clearTimeout(this.#timer)
  }

  #endWindow(): void {
    this.#timer = undefined
    this.#spent = 0
    if (!this.#isOver) {
      this.#overMs = 0
      return
    }
    this.#isOver = false
    this.#overMs += Math.min(performance.now() - this.#windowStart, MAX_COUNTED_MS)
    const waiting = this.#waiting
    this.#waiting = []
    for (const frame of waiting) {
      if (this.#isOver) this.#waiting.push(frame)
      else this.add(frame)
    }
    if (!this.#isOver) this.#effects.resume()
    else if (!this.#isDiscarding && this.#overMs >= this.#limits.overBudgetMs) this.#effects.onOverBudget()
  }
}
