/** The turns of the event loop, in milliseconds of processor time. */
export interface Turns {
  readonly longest: number
  readonly above10: number
  readonly total: number
}

/** Measures turns until the returned function is called. */
export function watchTurns(): () => Turns {
  let longest = 0
  let above10 = 0
  let isOver = false
  const startedAt = processorMs()
  let last = startedAt
  // Allocates nothing, because garbage collection would be measured, too.
  function turn(): void {
    const now = processorMs()
    const ms = now - last
    if (ms > longest) longest = ms
    if (ms > 10) above10++
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
    return { longest, above10, total: processorMs() - startedAt }
  }
}

/** Returns the processor time of this thread, because a clock would include other processes. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
