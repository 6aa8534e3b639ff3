import { isEndpointError } from '../protocol/endpoint-error.ts'
import { isAuthError } from '../protocol/errors.ts'
import type { AuthFailure, FailureCode, FailureListener } from './failure.ts'
import { failureCode } from './failure-code.ts'
import type { Telemetry } from './telemetry.ts'

/** A configuration. Reading it may throw, if it is invalid. */
interface Reporting {
  readonly onFailure: FailureListener | undefined
  readonly telemetry?: Telemetry | undefined
}

type Place = Pick<AuthFailure, 'path' | 'step'> & { readonly code?: FailureCode | undefined }

const REPORT_EVERY_MS = 60_000

/** The failures of one code and path since its last report. */
interface Window {
  count: number
  last: AuthFailure | null
}

const windowsByConfig = new WeakMap<Reporting, Map<string, Window>>()
const reported = new WeakSet<object>()

/**
 * Reports the failure of one call or one task to `onFailure`, if the error is a 503 or a 500. Every failure
 * passes here once, so they are counted here. The app gets the first of a code and path at once, and
 * then at most one a minute, with the number of those in between.
 */
export function reportFailure(error: unknown, place: Place, config: Reporting): void {
  if (!isFailure(error)) return
  const isKnown = isAuthError(error)
  const failure: AuthFailure = {
    code: place.code ?? failureCode(error),
    reason: isKnown ? error.reason : null,
    path: place.path,
    step: place.step,
    cause: isKnown ? (error.cause ?? error) : error,
    recovered: false,
    suppressed: 0,
  }
  countFailure(failure, config)
  limit(failure, config)
}

/** Reports an error that the app's code receives, and may throw on. Then it isn't reported again. */
export function reportOnce(error: unknown, place: Place, config: Reporting): void {
  reportFailure(error, place, config)
  if (typeof error === 'object' && error !== null) reported.add(error)
}

export async function reportRejected<Result>(
  work: Promise<Result>,
  place: Place,
  config: Reporting,
): Promise<Result> {
  return work.catch((error: unknown) => {
    reportOnce(error, place, config)
    throw error
  })
}

/** Returns whether {@link reportOnce} has reported an error. */
export function wasReported(error: unknown): boolean {
  return typeof error === 'object' && error !== null && reported.has(error)
}

/** Reports that what failed works again. */
export function reportRecovery(code: FailureCode, path: string, config: Reporting): void {
  const failure = { code, reason: null, path, cause: null, recovered: true, suppressed: 0 } as const
  limit({ ...failure, step: 'background' }, config)
}

/** Returns whether the server can't answer, rather than rejects. */
function isFailure(error: unknown): boolean {
  const isRejection = isAuthError(error) || isEndpointError(error)
  return !isRejection || error.status === 500 || error.status === 503
}

function countFailure({ code, reason, step }: AuthFailure, config: Reporting): void {
  try {
    config.telemetry?.count('failures', { code, reason: reason ?? undefined, step })
  } catch {
    // The failure may be that the configuration is invalid.
  }
}

function limit(failure: AuthFailure, config: Reporting): void {
  const windows = windowsByConfig.get(config) ?? new Map<string, Window>()
  windowsByConfig.set(config, windows)
  const nameOf = (recovered: boolean) => JSON.stringify([failure.code, failure.path, recovered])
  // The last report must be of the current state.
  const opposite = windows.get(nameOf(!failure.recovered))
  if (opposite !== undefined) opposite.last = null
  const window = windows.get(nameOf(failure.recovered))
  if (window === undefined) {
    const created = { count: 0, last: null }
    windows.set(nameOf(failure.recovered), created)
    emitFailure(failure, config)
    endWindow(created)
  } else {
    window.count++
    window.last = failure
  }

  function endWindow(current: Window): void {
    const timer = setTimeout(() => {
      const { last, count } = current
      if (last === null) return void windows.delete(nameOf(failure.recovered))
      emitFailure({ ...last, suppressed: count - 1 }, config)
      Object.assign(current, { count: 0, last: null })
      endWindow(current)
    }, REPORT_EVERY_MS)
    // On the edge, a timer is a number.
    timer.unref?.()
  }
}

function emitFailure(failure: AuthFailure, config: Reporting): void {
  // An error of the listener, thrown or rejected, changes no response.
  const call = async () => listenerOf(config)(failure)
  call().catch((fault: unknown) => console.error('onFailure failed:', fault, failure))
}

function listenerOf(config: Reporting): FailureListener {
  try {
    return config.onFailure ?? logFailure
  } catch {
    // The failure may be that it is invalid.
    return logFailure
  }
}

function logFailure({ code, path, step, cause, recovered, suppressed }: AuthFailure): void {
  const place = path === null ? step : `${path} (${step})`
  const more = suppressed === 0 ? '' : `, and ${suppressed} more`
  if (recovered) console.error(`sallyport: ${code} in ${place} is over${more}`)
  else console.error(`sallyport: ${code} in ${place}${more}`, cause)
}
