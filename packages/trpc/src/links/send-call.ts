/** The answer of a query, where it is a stream. */
export function streamIn(result: object): AsyncIterable<unknown> | null {
  const data: unknown = 'data' in result ? result.data : null
  const isStream = typeof data === 'object' && data !== null && Symbol.asyncIterator in data
  return isStream ? (data as AsyncIterable<unknown>) : null
}

/** What is done with a stream while it is read, which is long after its query is over. */
interface Watch {
  /** Throws where the reader may not have the value that has come. */
  check(): void
  /** Is told of the error that it ends with. */
  report(error: unknown): void
}

/** A stream that gives each value only after it was checked. */
export async function* watchStream(
  stream: AsyncIterable<unknown>,
  { check, report }: Watch,
): AsyncGenerator<unknown, void> {
  try {
    for await (const value of stream) {
      check()
      yield value
    }
  } catch (error) {
    report(error)
    throw error
  }
}
