import { clientError } from '../client/auth-client-error.ts'
import { toCallError } from './call-error.ts'

interface Guard {
  /** Called before each value. Returns whether the user of the call is gone. */
  next(): boolean
  error(error: unknown): void
}

/** Guards the stream that a query may return: the app reads it long after the query has ended. */
export async function* guardStream(
  stream: AsyncIterable<unknown>,
  { next: isGone, error: report }: Guard,
): AsyncGenerator {
  const values = stream[Symbol.asyncIterator]()
  try {
    // A loop of `for await` would drop the value that the stream returns.
    while (true) {
      const { done, value } = await values.next()
      if (isGone()) throw toCallError(clientError('USER_CHANGED'))
      if (done) return value
      yield value
    }
  } catch (error) {
    report(error)
    throw error
  } finally {
    await values.return?.()
  }
}
