import type { Answer } from './answer.ts'

/** How a stream ended, and when by `performance.now()`. */
export interface StreamEnd extends Answer {
  readonly at: number
}

/** A live stream as it arrives. */
export interface LiveStream {
  /** The first value, or why there was none. */
  readonly begun: Promise<Answer>
  readonly ended: Promise<StreamEnd>
  readonly seen: {
    /** Values so far. */
    readonly values: number
    /** When the last one came. */
    readonly lastAt: number
    /** Values that came when it had ended already, and values meant for another. */
    readonly wrong: number
    readonly hasEnded: boolean
    /** The code with which its socket was closed; null while it is open, and where it has none or nobody looks. */
    readonly closeCode: number | null
  }
  close(): void
}

/** Keeps the record of a stream. */
export interface StreamRecord {
  readonly stream: Omit<LiveStream, 'close'>
  value(answer: Answer): void
  end(answer: Answer): void
  closeSocket(code: number): void
}

export function createRecord(): StreamRecord {
  const seen = {
    values: 0,
    lastAt: Number.NEGATIVE_INFINITY,
    wrong: 0,
    hasEnded: false,
    closeCode: null as number | null,
  }
  const begun = Promise.withResolvers<Answer>()
  const ended = Promise.withResolvers<StreamEnd>()
  return {
    stream: { begun: begun.promise, ended: ended.promise, seen },
    value(answer) {
      seen.values++
      seen.lastAt = performance.now()
      if (seen.hasEnded || answer.reason !== null) seen.wrong++
      begun.resolve(answer)
    },
    end(answer) {
      seen.hasEnded = true
      begun.resolve(answer)
      ended.resolve({ ...answer, at: performance.now() })
    },
    closeSocket(code) {
      seen.closeCode = code
    },
  }
}
