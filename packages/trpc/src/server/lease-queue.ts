/** The lease: a stream may emit only if its session was read at most this long ago, in milliseconds. */
export const LEASE_MS = 5_000

/** A session is read again when the last read is older than this. */
const RENEW_AFTER_MS = 2_000

/** All that are due at the same moment are read within this time, which leaves two seconds to those that fail. */
const SPREAD_MS = 1_000

/** How many are read together. */
const CHUNK = 500

/** The longest pause between two chunks. */
const LONGEST_PAUSE_MS = 100

/** A read that failed is tried again after this time. */
const RETRY_AFTER_MS = 500

/** What is to be renewed. */
export interface Renewals<Item> {
  /** Renews an item from now on. */
  keep(item: Item): void
  /** Lets go of it. */
  drop(item: Item): void
  /** Renews an item soon, kept or not, and then again until it is settled. */
  retry(item: Item): void
  settle(item: Item): void
}

/**
 * Calls `renew` for each item that is kept, in time and oldest first, in chunks with pauses between them. While nothing is kept there is
 * no timer.
 */
export function createRenewals<Item>(renew: (item: Item) => void): Renewals<Item> {
  /** When each item is due, earliest first. */
  const due = new Map<Item, number>()
  const retries = new Map<Item, number>()
  let lastChunkAt = 0
  let wakesAt = Number.POSITIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined

  function schedule(): void {
    const next = Math.min(earliest(due), earliest(retries))
    if (next === Number.POSITIVE_INFINITY) return
    const pause = Math.min(LONGEST_PAUSE_MS, (SPREAD_MS * CHUNK) / Math.max(due.size, 1))
    const at = Math.max(next, lastChunkAt + pause)
    if (timer !== undefined && wakesAt <= at) return
    clearTimeout(timer)
    wakesAt = at
    timer = setTimeout(renewChunk, Math.max(0, Math.ceil(at - performance.now())))
  }

  function sleep(): void {
    clearTimeout(timer)
    timer = undefined
  }

  function remove(moments: Map<Item, number>, item: Item): void {
    if (moments.delete(item) && due.size + retries.size === 0) sleep()
  }

  function renewChunk(): void {
    timer = undefined
    const now = performance.now()
    lastChunkAt = now
    const chunk = [...take(retries, now, CHUNK)]
    chunk.push(...take(due, now, CHUNK - chunk.length))
    for (const item of chunk) {
      retries.delete(item)
      if (due.delete(item)) due.set(item, now + RENEW_AFTER_MS)
      renew(item)
    }
    schedule()
  }

  return {
    keep(item) {
      due.set(item, performance.now() + RENEW_AFTER_MS)
      schedule()
    },
    retry(item) {
      retries.delete(item)
      retries.set(item, performance.now() + RETRY_AFTER_MS)
      schedule()
    },
    drop: (item) => remove(due, item),
    settle: (item) => remove(retries, item),
  }
}

function earliest(moments: ReadonlyMap<unknown, number>): number {
  for (const moment of moments.values()) return moment
  return Number.POSITIVE_INFINITY
}

/** The first items that are due. */
function* take<Item>(moments: ReadonlyMap<Item, number>, now: number, most: number): Generator<Item> {
  let taken = 0
  for (const [item, moment] of moments) {
    if (moment > now || taken === most) return
    taken++
    yield item
  }
}
