import { diag } from '@opentelemetry/api'

/** Calls the SDK. Its error changes no response: it goes to the app's logger for OpenTelemetry. */
export function withoutErrors<Result>(call: () => Result): Result | undefined {
  try {
    return call()
  } catch (error) {
    try {
      diag.error('sallyport: OpenTelemetry failed', error)
    } catch {
      // So does the logger.
    }
    return undefined
  }
}
