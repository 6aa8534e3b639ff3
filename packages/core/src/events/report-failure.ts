import { timersAreShared } from '../protocol/deadline.ts'
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

/** The time between reports of the same state. */
const REPEAT_MS = 60_000
/** The time between a report and that of the opposite state: failed, or recovered. */
const CHANGE_MS = 1_000

/** The failures of one code and path since its last report. */
interface Window {
  readonly recovered: boolean
  readonly reportedAt: number
  count: number
  last: AuthFailure | null
  timer?: ReturnType<typeof setTimeout>
}

const windowsByConfig = new WeakMap<Reporting, Map<string, Window>>()
const reported = new WeakSet<object>()

/**
 * Reports the failure of one call or one task to `onFailure`, if the error is a 503 or a 500. Every failure
 * passes here once, so they are counted here. The app gets the first of a code and path at once, and
 * then at most one a minute, with the number of those in between. It gets a change to recovered, or back,
 * within a second.
 */
export function reportFailure(error: unknown, place: Place, config: Reporting): void {
  if (!isFailure(error)) return
  const isKnown = isAuthError(error)
  const failure: AuthFailure = {
    code: place.code ?? failureCode(error),
    reason: isKnown && place.step !== 'background' ? error.reason : null,
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
  const name = JSON.stringify([failure.code, failure.path])
  const window = windows.get(name)
  const isOver = window !== undefined && performance.now() - window.reportedAt > REPEAT_MS
  // In Cloudflare Workers, a timer ends with its request.
  if (window === undefined || (isOver && !timersAreShared)) {
    begin({ ...failure, suppressed: window?.count ?? 0 })
    return
  }
  const { recovered } = window.last ?? window
  window.count++
  window.last = failure
  if (recovered !== failure.recovered) setTimer(window, end)

  function begin(reported: AuthFailure): void {
    emitFailure(reported, config)
    const begun = { recovered: reported.recovered, reportedAt: performance.now(), count: 0, last: null }
    windows.set(name, begun)
    setTimer(begun, end)
  }

  function end({ last, count }: Window): void {
    windows.delete(name)
    if (last !== null) begin({ ...last, suppressed: count - 1 })
  }
}

function setTimer(window: Window, end: (window: Window) => void): void {
  clearTimeout(window.timer)
  const { recovered, reportedAt, last } = window
  const delay = last === null || last.recovered === recovered ? REPEAT_MS : CHANGE_MS
  // Node warns of a negative delay.
  window.timer = setTimeout(end, Math.max(0, reportedAt + delay - performance.now()), window)
  // On the edge, a timer is a number.
  window.timer.unref?.()
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
