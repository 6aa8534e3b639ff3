/** The lease: a stream may emit only if its session was read at most this long ago, in milliseconds. */
export const LEASE_MS = 5_000

/** A session is read again when the last read is older than this. */
const RENEW_AFTER_MS = 2_000

/** Reads that are due together begin within this time, which leaves two seconds to those that fail. */
const SPREAD_MS = 1_000

/** The most renewals that begin together. */
const MAX_CHUNK = 500

/** The longest pause between two chunks. */
const MAX_PAUSE_MS = 100

/** A read that failed is tried again after this time. */
const RETRY_AFTER_MS = 500

/** The most reads that begin in one turn of the event loop: a store that answers at once must not block it. */
export const MAX_READS_PER_TURN = 100

/** Begins a read in this turn of the event loop, or in a later one. */
export type ReadQueue = (read: () => void) => void

/** Returns a queue that begins reads in order, the first {@link MAX_READS_PER_TURN} of a turn before it returns. */
export function createReadQueue(): ReadQueue {
  let begunThisTurn = 0
  let queue: (() => void)[] = []

  function begin(read: () => void): void {
    if (begunThisTurn === 0) setTimeout(endTurn, 0)
    begunThisTurn++
    read()
  }

  function endTurn(): void {
    begunThisTurn = 0
    const next = queue.slice(0, MAX_READS_PER_TURN)
    queue = queue.slice(MAX_READS_PER_TURN)
    for (const read of next) begin(read)
  }

  return (read) => {
    if (begunThisTurn < MAX_READS_PER_TURN && queue.length === 0) begin(read)
    else queue.push(read)
  }
}

/** When leases are renewed. */
export interface Renewals<Lease> {
  /** Renews a lease from now on. */
  keep(lease: Lease): void
  /** Stops renewing it. */
  drop(lease: Lease): void
  /** Renews a lease soon, kept or not. */
  retry(lease: Lease): void
  /** Cancels that. */
  settle(lease: Lease): void
}

/**
 * Calls `renew` for each lease that is kept, in time and oldest first, in chunks with pauses between them. Without
 * leases it has no timer.
 */
export function createRenewals<Lease>(renew: (lease: Lease) => void): Renewals<Lease> {
  /** When each lease is due, earliest first. */
  const due = new Map<Lease, number>()
  const retries = new Map<Lease, number>()
  let lastChunkAt = 0
  let wakesAt = Number.POSITIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined

  function schedule(): void {
    const next = Math.min(earliest(due), earliest(retries))
    if (next === Number.POSITIVE_INFINITY) return
    const pause = Math.min(MAX_PAUSE_MS, (SPREAD_MS * MAX_CHUNK) / Math.max(due.size, 1))
    const at = Math.max(next, lastChunkAt + pause)
    if (timer !== undefined && wakesAt <= at) return
    clearTimeout(timer)
    wakesAt = at
    timer = setTimeout(renewChunk, Math.max(0, Math.ceil(at - performance.now())))
  }

  function remove(moments: Map<Lease, number>, lease: Lease): void {
    if (!moments.delete(lease) || due.size + retries.size > 0) return
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
    retry(lease) {
      retries.delete(lease)
      retries.set(lease, performance.now() + RETRY_AFTER_MS)
      schedule()
    },
    drop: (lease) => remove(due, lease),
    settle: (lease) => remove(retries, lease),
  }
}

function earliest(moments: ReadonlyMap<unknown, number>): number {
  for (const moment of moments.values()) return moment
  return Number.POSITIVE_INFINITY
}

/** The first leases that are due. */
function* take<Lease>(moments: ReadonlyMap<Lease, number>, now: number, most: number): Generator<Lease> {
  let taken = 0
  for (const [lease, moment] of moments) {
    if (moment > now || taken === most) return
    taken++
    yield lease
  }
}
