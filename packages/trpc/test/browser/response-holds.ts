/** Responses that are held back. */
export interface ResponseHold {
  /** The number of waiting responses. */
  readonly waiting: number
  /** Releases these and later responses. */
  release(): void
}

/** Delays responses that the server has already computed, like a slow network. */
export function createResponseHolds(): {
  hold(path: string): ResponseHold
  /** Resolves when a response to the path may be sent. */
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
