/** The lease: a stream may emit only if its session was read at most this long ago. */
export const LEASE_MS = 5_000

/** A session is read again when the last read is older than this. */
const RENEW_AFTER_MS = 2_000

/** Reads that are due together begin within this time, which leaves two seconds to retry those that fail. */
const SPREAD_MS = 1_000

/** The most renewals that begin together. */
const MAX_CHUNK = 500

/** The longest pause between two chunks. */
const MAX_PAUSE_MS = 100

/** The delay before a failed read is retried. */
const RETRY_AFTER_MS = 500

/** The most reads that begin in one turn of the event loop: a store that responds at once must not block it. */
export const MAX_READS_PER_TURN = 100

/** Begins a read in this turn of the event loop, or in a later one. */
export type ReadQueue = (read: () => void) => void

/** Returns a queue that begins reads in order, the first {@link MAX_READS_PER_TURN} of a turn before it returns. */
export function createReadQueue(): ReadQueue {
  let begunThisTurn = 0
  const queue: (() => void)[] = []

  function begin(read: () => void): void {
    if (begunThisTurn === 0) setTimeout(endTurn, 0)
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

/** Schedules the renewal of leases. */
export interface Renewals<Lease> {
  /** Renews a lease regularly, until it is dropped. */
  keep(lease: Lease): void
  drop(lease: Lease): void
  /** Renews a lease soon, kept or not, until that is canceled. */
  retry(lease: Lease): void
  cancelRetry(lease: Lease): void
}

/** Calls `renew` for each lease that is due, oldest first, in chunks with pauses. Without leases it has no timer. */
export function createRenewals<Lease>(renew: (lease: Lease) => void): Renewals<Lease> {
  /** When each lease is due, earliest first. */
  const due = new Map<Lease, number>()
  const retries = new Map<Lease, number>()
  let lastChunkAt = 0
  let timerEndsAt = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function schedule(): void {
    const next = Math.min(earliest(due), earliest(retries))
    if (next === Number.POSITIVE_INFINITY) return
    const pause = Math.min(MAX_PAUSE_MS, (SPREAD_MS * MAX_CHUNK) / Math.max(due.size, 1))
    const at = Math.max(next, lastChunkAt + pause)
    if (timer !== undefined && timerEndsAt <= at) return
    clearTimeout(timer)
    timerEndsAt = at
    timer = setTimeout(renewChunk, Math.max(0, Math.ceil(at - performance.now())))
  }

  function remove(times: Map<Lease, number>, lease: Lease): void {
    if (!times.delete(lease) || due.size + retries.size > 0) return
    clearTimeout(timer)
    timer = undefined
  }

  function renewChunk(): void {
    timer = undefined
    const now = performance.now()
    lastChunkAt = now
    const chunk = [...take(retries, now, MAX_CHUNK)]
    chunk.push(...take(due, now, MAX_CHUNK - chunk.length))
    for (const lease of chunk) {
      retries.delete(lease)
      if (due.delete(lease)) due.set(lease, now + RENEW_AFTER_MS)
      renew(lease)
    }
    schedule()
  }

  return {
    keep(lease) {
      due.set(lease, performance.now() + RENEW_AFTER_MS)
      schedule()
    },
    drop: (lease) => remove(due, lease),
    retry(lease) {
      retries.delete(lease)
      retries.set(lease, performance.now() + RETRY_AFTER_MS)
      schedule()
    },
    cancelRetry: (lease) => remove(retries, lease),
  }
}

function earliest(times: ReadonlyMap<unknown, number>): number {
  return times.values().next().value ?? Number.POSITIVE_INFINITY
}

/** Yields the first leases that are due. */
function* take<Lease>(times: ReadonlyMap<Lease, number>, now: number, max: number): Generator<Lease> {
  let taken = 0
  for (const [lease, time] of times) {
    if (time > now || taken++ === max) return
    yield lease
  }
}
