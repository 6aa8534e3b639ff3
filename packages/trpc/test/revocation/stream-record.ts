import type { Answer } from './answer.ts'

/** How and when a stream ended. Times are from `performance.now()`. */
export interface StreamEnd extends Answer {
  readonly at: number
}

/** A live stream on the wire. */
export interface LiveStream {
  /** The first value, or why there was none. */
  readonly begun: Promise<Answer>
  readonly ended: Promise<StreamEnd>
  readonly seen: {
    /** Values so far. */
    readonly values: number
    /** When the last value arrived. */
    readonly lastAt: number
    /** Values after the end, and values for another user. */
    readonly wrong: number
    readonly hasEnded: boolean
    /** The socket's close code, or null while it is open or if there is none. */
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
