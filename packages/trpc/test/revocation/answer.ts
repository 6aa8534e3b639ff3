import * as z from 'zod'

/** What came of a call. */
export interface Answer {
  /** Over every transport that of HTTP, so 200 was let in; 0 where nobody answered. */
  readonly status: number
  /** Why it was not let in; null where it was, and the answer is the caller's own. */
  readonly reason: string | null
}

/** A call that was let in. */
export const ACCEPTED: Answer = { status: 200, reason: null }

/** An error as it comes over the wire. */
export const rejection = z.object({
  data: z.object({ httpStatus: z.number(), auth: z.object({ reason: z.string() }).nullable() }),
})
const body = z.union([z.object({ error: rejection }), z.object({ result: z.object({ data: z.unknown() }) })])

/** An error as tRPC sends it. */
export function rejectionOf(error: unknown): Answer {
  const { httpStatus, auth } = rejection.parse(error).data
  return { status: httpStatus, reason: auth?.reason ?? 'NO_REASON' }
}

/** The answer to a call of `me`. */
export function answerOf(value: unknown, userId: string): Answer {
  const parsed = body.parse(value)
  return 'error' in parsed ? rejectionOf(parsed.error) : ownAnswer(parsed.result.data, userId)
}

/** What was let in, and ought to be for this user. */
export function ownAnswer(data: unknown, userId: string): Answer {
  return data === userId ? ACCEPTED : { status: 200, reason: 'ANSWERED_FOR_ANOTHER' }
}

/** Nobody answered. */
export const noAnswer = (why: string): Answer => ({ status: 0, reason: why })

/** How many were answered how. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) countIn(counts, answer)
  return counts
}

/** Adds one to the count of such answers. */
export function countIn(counts: Record<string, number>, { status, reason }: Answer, prefix = ''): void {
  const name = `${prefix}${status}${reason === null ? '' : ` ${reason}`}`
  counts[name] = (counts[name] ?? 0) + 1
}
