import type { AuthConfig } from '../config.ts'
import type { Telemetry } from '../events/telemetry.ts'
import { AuthError } from '../protocol/errors.ts'

/** The pause after a failure, so an outage isn't made worse by an attempt per request. */
const RETRY_AFTER_MS = 1_000

/** Something that is opened at its first use. */
export interface Opening<Opened> {
  /** Undefined until it is open, and after `close`. */
  readonly current: Opened | undefined
  /** Opens it if necessary. Concurrent callers share an attempt. @throws AuthError `SESSIONS_UNAVAILABLE` */
  open(): Promise<Opened>
  /** Ends it for good, also while it opens. */
  close(): Promise<void>
}

interface OpenOptions<Opened> {
  readonly config: AuthConfig
  end(opened: Opened): Promise<void>
  /** Receives the error of a failed attempt once, not once per caller. */
  onError(error: unknown): void
}

export function openOnce<Opened>(
  begin: () => Promise<Opened>,
  { config, end, onError }: OpenOptions<Opened>,
): Opening<Opened> {
  let current: Opened | undefined
  let attempt: Promise<Opened> | undefined
  let failure: { readonly cause: unknown; readonly at: number } | undefined
  let isClosed = false

  const unavailable = () => new AuthError('SESSIONS_UNAVAILABLE', { cause: failure?.cause })

  async function start(): Promise<Opened> {
    try {
      current = await (telemetryOf(config)?.detach(begin) ?? begin())
    } catch (cause) {
      attempt = undefined
      failure = { cause, at: performance.now() }
      const error = unavailable()
      onError(error)
      throw error
    }
    if (!isClosed) return current
    await endCurrent()
    throw unavailable()
  }

  async function endCurrent(): Promise<void> {
    const opened = current
    current = undefined
    if (opened !== undefined) await end(opened)
  }

  return {
    get current() {
      return current
    },
    open() {
      const isPaused = failure !== undefined && performance.now() - failure.at < RETRY_AFTER_MS
      if (isClosed || (attempt === undefined && isPaused)) return Promise.reject(unavailable())
      attempt ??= start()
      return attempt
    },
    async close() {
      isClosed = true
      // An attempt that completes now ends what it opened.
      if (current === undefined) await attempt?.catch(() => {})
      else await endCurrent()
    },
  }
}

function telemetryOf(config: AuthConfig): Telemetry | undefined {
  try {
    return config.telemetry
  } catch {
    // The configuration is invalid, which is an error of `begin`.
    return undefined
  }
}
