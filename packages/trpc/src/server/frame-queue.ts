/** The window of the frame budget, in milliseconds. */
const WINDOW_MS = 100

/**
 * The most time over the budget that one window adds: a server that was paused must not close its clients.
 */
const MAX_COUNTED_MS = 2 * WINDOW_MS

/** A frame that waits for its turn. */
export interface WaitingFrame {
  /** Handles the next call in it. Returns whether there are more. */
  deliver(): boolean
}

/** The effects of the queue on its socket. */
export interface FrameQueueEffects {
  pause(): void
  resume(): void
  /** Called when the socket has been over its budget for too long. */
  onOverBudget(): void
}

/**
 * Enforces the frame budget of one socket. Over budget, reading pauses, and frames that are already parsed
 * wait: one network chunk can hold thousands. A timer ends each window, not the clock. Otherwise a machine
 * that needs 100 ms for 50 frames would handle a whole chunk in one turn of the event loop.
 */
export class FrameQueue {
  readonly #framesPerWindow: number
  readonly #overBudgetMs: number
  readonly #effects: FrameQueueEffects
  #waiting: WaitingFrame[] = []
  #spent = 0
  /** Whether more frames came in this window than the budget allows. */
  #isOver = false
  /** How long the socket has been over its budget without a break, in milliseconds. */
  #overMs = 0
  #windowStart = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isDiscarding = false

  constructor(
    { framesPer100Ms, overBudgetMs }: { framesPer100Ms: number; overBudgetMs: number },
    effects: FrameQueueEffects,
  ) {
    this.#framesPerWindow = framesPer100Ms
    this.#overBudgetMs = overBudgetMs
    this.#effects = effects
  }

  /** Spends one frame of the budget. If this returns false, the frame must wait: add it. */
  spend(): boolean {
    if (this.#isOver || this.#spent >= this.#framesPerWindow) return false
    this.#spent++
    if (this.#timer === undefined) this.#beginWindow()
    return true
  }

  /** Handles as much of a frame as the budget allows; the rest of it waits. */
  add(frame: WaitingFrame): void {
    while (this.spend()) if (this.#isDiscarding || !frame.deliver()) return
    if (!this.#isDiscarding) this.#waiting.push(frame)
    if (this.#isOver) return
    this.#isOver = true
    this.#effects.pause()
  }

  /** Drops the waiting frames and all that follow. Reading still pauses if there are too many. */
  discard(): void {
    this.#isDiscarding = true
    this.#waiting = []
  }

  /** Stops the queue. Called when its socket closes. */
  close(): void {
    this.discard()
    clearTimeout(this.#timer)
  }

  #beginWindow(): void {
    this.#windowStart = performance.now()
    this.#timer = setTimeout(() => this.#endWindow(), WINDOW_MS)
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
    else if (!this.#isDiscarding && this.#overMs >= this.#overBudgetMs) this.#effects.onOverBudget()
  }
}
