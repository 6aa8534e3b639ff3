/** A stream may emit only if its session was read at most this long ago. */
export const LEASE_MS = 5_000

const RENEW_AFTER_MS = 2_000

/** Reads that are due together begin within this time, which leaves two seconds to retry those that fail. */
const SPREAD_MS = 1_000
const MAX_CHUNK = 500
const MAX_PAUSE_MS = 100
const RETRY_AFTER_MS = 500

/** Neither a fast store nor many streams that end together may block the event loop. */
export const MAX_READS_PER_TURN = 100

/** A timer would pause for a millisecond. On the edge, `setImmediate` may be missing. */
const inNextTurn: (run: () => void) => unknown =
  globalThis.setImmediate ?? ((run: () => void) => setTimeout(run, 0))

export type ReadQueue = (read: () => void) => void

/** Returns a queue that begins reads in order: the first 100 of an event loop turn at once, others later. */
export function createReadQueue(): ReadQueue {
  let begunThisTurn = 0
  const queue: (() => void)[] = []

  function begin(read: () => void): void {
    if (begunThisTurn === 0) inNextTurn(endTurn)
    begunThisTurn++
    read()
  }

  function endTurn(): void {
    begunThisTurn = 0
    for (const read of queue.splice(0, MAX_READS_PER_TURN)) begin(read)
  }

  return (read) => {
    if (begunThisTurn < MAX_READS_PER_TURN && queue.length === 0) begin(read)
    else queue.push(read)
  }
}

/** Renews leases that are due, oldest first, in chunks with pauses. Without leases, it has no timer. */
export class Renewals<Lease extends { renew(): void }> {
  /** When each lease is due, earliest first. */
  readonly #due = new Map<Lease, number>()
  readonly #retries = new Map<Lease, number>()
  #lastChunkAt = 0
  #timerEndsAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  keep(lease: Lease): void {
    this.#due.set(lease, performance.now() + RENEW_AFTER_MS)
    this.#schedule()
  }

  drop(lease: Lease): void {
    this.#remove(this.#due, lease)
  }

  /** Renews a lease soon, kept or not, until that is canceled. */
  retry(lease: Lease): void {
    this.#retries.delete(lease)
    this.#retries.set(lease, performance.now() + RETRY_AFTER_MS)
    this.#schedule()
  }

  cancelRetry(lease: Lease): void {
    this.#remove(this.#retries, lease)
  }

  #remove(times: Map<Lease, number>, lease: Lease): void {
    if (!times.delete(lease) || this.#due.size + this.#retries.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(): void {
    const next = Math.min(earliest(this.#due), earliest(this.#retries))
    if (next === Number.POSITIVE_INFINITY) return
    const pause = Math.min(MAX_PAUSE_MS, (SPREAD_MS * MAX_CHUNK) / Math.max(this.#due.size, 1))
    const at = Math.max(next, this.#lastChunkAt + pause)
    if (this.#timer !== undefined && this.#timerEndsAt <= at) return
    clearTimeout(this.#timer)
    this.#timerEndsAt = at
    this.#timer = setTimeout(() => this.#renewChunk(), Math.max(0, Math.ceil(at - performance.now())))
  }

  #renewChunk(): void {
    this.#timer = undefined
    const now = performance.now()
    this.#lastChunkAt = now
    const chunk = [...take(this.#retries, now, MAX_CHUNK)]
    chunk.push(...take(this.#due, now, MAX_CHUNK - chunk.length))
    for (const lease of chunk) {
      this.#retries.delete(lease)
      if (this.#due.delete(lease)) this.#due.set(lease, now + RENEW_AFTER_MS)
      lease.renew()
    }
    this.#schedule()
  }
}

function earliest(times: ReadonlyMap<unknown, number>): number {
  return times.values().next().value ?? Number.POSITIVE_INFINITY
}

function* take<Lease>(times: ReadonlyMap<Lease, number>, now: number, max: number): Generator<Lease> {
  let taken = 0
  for (const [lease, time] of times) {
    if (time > now || taken++ === max) return
    yield lease
  }
}
