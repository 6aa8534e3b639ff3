import { diag } from '@opentelemetry/api'

/** Calls the SDK. Sends its errors to the app's OpenTelemetry logger, so they never change a response. */
export function withoutErrors<Result>(call: () => Result): Result | undefined {
  try {
    return call()
  } catch (error) {
    try {
      diag.error('sallyport: OpenTelemetry failed', error)
    } catch {
      // The logger threw, too.
    }
    return undefined
  }
}
