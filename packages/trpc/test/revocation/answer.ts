import * as z from 'zod'

/** The result of a call. */
export interface Answer {
  /** The HTTP status over every transport: 200 if accepted, 0 without a response. */
  readonly status: number
  /** The reason of the rejection, or null if the call was accepted with the caller's own data. */
  readonly reason: string | null
}

/** The result of an accepted call. */
export const ACCEPTED: Answer = { status: 200, reason: null }

/** An error on the wire. */
export const rejection = z.object({
  data: z.object({ httpStatus: z.number(), auth: z.object({ reason: z.string() }).nullable() }),
})
const body = z.union([z.object({ error: rejection }), z.object({ result: z.object({ data: z.unknown() }) })])

/** Converts an error of tRPC. */
export function rejectionOf(error: unknown): Answer {
  const { httpStatus, auth } = rejection.parse(error).data
  return { status: httpStatus, reason: auth?.reason ?? 'NO_REASON' }
}

/** Converts a response of `me`. */
export function answerOf(value: unknown, userId: string): Answer {
  const parsed = body.parse(value)
  return 'error' in parsed ? rejectionOf(parsed.error) : ownAnswer(parsed.result.data, userId)
}

/** Checks that an accepted response is for this user. */
export function ownAnswer(data: unknown, userId: string): Answer {
  return data === userId ? ACCEPTED : { status: 200, reason: 'ANSWERED_FOR_ANOTHER' }
}

/** Creates the result of a call without a response. */
export const noAnswer = (why: string): Answer => ({ status: 0, reason: why })

/** Counts the results by status and reason. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const answer of answers) countIn(counts, answer)
  return counts
}

/** Adds one to the count of a result. */
export function countIn(counts: Record<string, number>, { status, reason }: Answer, prefix = ''): void {
  const name = `${prefix}${status}${reason === null ? '' : ` ${reason}`}`
  counts[name] = (counts[name] ?? 0) + 1
}
