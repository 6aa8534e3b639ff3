import { type Answer, ownAnswer } from './answer.ts'

/** How and when a stream ended. Times are from `Date.now()`, so those of all processes are comparable. */
export interface StreamEnd extends Answer {
  readonly at: number
}

/** A live stream on the wire. */
export interface LiveStream {
  /** The first value, or why there was none. */
  readonly begun: Promise<Answer>
  readonly ended: Promise<StreamEnd>
  readonly seen: {
    /** When the node emitted each value so far. */
    readonly emittedAt: readonly number[]
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
  value(value: unknown): void
  end(answer: Answer): void
  closeSocket(code: number): void
}

export function createRecord({ userId }: { readonly userId: string }): StreamRecord {
  const seen = {
    emittedAt: [] as number[],
    wrong: 0,
    hasEnded: false,
    closeCode: null as number | null,
  }
  const begun = Promise.withResolvers<Answer>()
  const ended = Promise.withResolvers<StreamEnd>()
  return {
    stream: { begun: begun.promise, ended: ended.promise, seen },
    value(value) {
      const [user, at] = String(value).split(' ')
      const answer = ownAnswer(user, userId)
      seen.emittedAt.push(Number(at))
      if (seen.hasEnded || answer.reason !== null) seen.wrong++
      begun.resolve(answer)
    },
    end(answer) {
      seen.hasEnded = true
      begun.resolve(answer)
      ended.resolve({ ...answer, at: Date.now() })
    },
    closeSocket(code) {
      seen.closeCode = code
    },
  }
}

/** Returns how many values a stream emitted after a moment. */
export function valuesAfter({ seen }: LiveStream, moment: number): number {
  return seen.emittedAt.filter((at) => at > moment).length
}

/** Returns how much later than a moment a stream emitted its last value. */
export function lateMs({ seen }: LiveStream, moment: number): number {
  return (seen.emittedAt.at(-1) ?? Number.NEGATIVE_INFINITY) - moment
}
