/** Answers that are kept back. */
export interface AnswerHold {
  /** How many wait. */
  readonly waiting: number
  /** Lets them go, and those that come later. */
  release(): void
}

/** Keeps answers back that the server has computed, as a slow network does. */
export function createAnswerHolds(): {
  hold(path: string): AnswerHold
  /** Resolves when an answer to a path may go. */
  pass(path: string): Promise<void>
  releaseAll(): void
} {
  const holds = new Set<{ path: string; waiting: number; released: Promise<void>; release(): void }>()
  return {
    hold(path) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const held = {
        path,
        waiting: 0,
        released: promise,
        release() {
          holds.delete(held)
          resolve()
        },
      }
      holds.add(held)
      return held
    },
    async pass(path) {
      const matching = [...holds].filter((held) => path.startsWith(held.path))
      for (const held of matching) held.waiting++
      await Promise.all(matching.map(({ released }) => released))
      for (const held of matching) held.waiting--
    },
    releaseAll() {
      for (const held of holds) held.release()
    },
  }
}
