import { type Answer, countIn } from './answer.ts'

/** Calls at a steady rate, and their results. */
export interface Load {
  /** By status and reason. */
  readonly answers: Readonly<Record<string, number>>
  /** Waits for the pending responses. */
  stop(): Promise<void>
}

const TURN_MS = 10

/** Makes this many calls a second, however long each takes. */
export function startLoad(perSecond: number, call: () => Promise<Answer>): Load {
  const answers: Record<string, number> = {}
  const underWay = new Set<Promise<void>>()
  const startedAt = performance.now()
  let sent = 0

  async function send(): Promise<void> {
    countIn(answers, await call())
  }

  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) * perSecond) / 1_000)
    for (; sent < due; sent++) {
      const answered = send().finally(() => underWay.delete(answered))
      underWay.add(answered)
    }
  }, TURN_MS)

  return {
    answers,
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
    },
  }
}
