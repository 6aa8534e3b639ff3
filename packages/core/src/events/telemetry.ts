import type { Reason } from '../protocol.ts'
import type { FailureCode, FailureStep } from './failure.ts'

/** The databases of our stores, as OpenTelemetry names them. */
export type DatabaseSystem = 'sqlite' | 'postgresql'

/** Work that gets a span. */
export type Operation =
  | { readonly name: 'step1' | 'refresh' }
  | { readonly name: 'step2'; readonly system: DatabaseSystem | undefined }
  /** `path` is the part after `/api/auth`; null for an unknown one. `scheme` is null for `auth.api`. */
  | {
      readonly name: 'endpoint'
      readonly method: string
      readonly path: string | null
      readonly scheme: 'http' | 'https' | null
    }

/** The counters and their attributes. */
export interface Counts {
  readonly denials: { readonly reason: Reason; readonly step: 'step1' | 'step2' }
  readonly failures: {
    readonly code: FailureCode
    readonly reason: Reason | undefined
    readonly step: FailureStep
  }
  /** The first part of the limit's key, such as `sign-in`, or the kind of a limit without a key. */
  readonly rateLimited: { readonly limit: string }
}

/** The histograms and their attributes. All are in seconds, except `batch`, which is in lookups. */
export interface Measurements {
  readonly lookup: { readonly system: DatabaseSystem | undefined; readonly error: unknown }
  readonly batch: { readonly system: DatabaseSystem }
  readonly poolWait: { readonly system: DatabaseSystem }
  readonly feedLag: { readonly system: DatabaseSystem; readonly source: 'notification' | 'log' | 'poll' }
  readonly leaseAge: object
  readonly revocationDelay: object
}

/**
 * Receives spans and measurements. `openTelemetry()` implements it. No method throws.
 * @internal
 */
export interface Telemetry {
  /** Runs the work in a span, and rejects with the error of the work. */
  trace<Result>(operation: Operation, work: () => Promise<Result>): Promise<Result>
  count<Name extends keyof Counts>(name: Name, attributes: Counts[Name]): void
  record<Name extends keyof Measurements>(name: Name, value: number, attributes: Measurements[Name]): void
  /** Runs work that outlasts the call that begins it, outside that call's trace. */
  detach<Result>(work: () => Promise<Result>): Promise<Result>
  /** Changes the number of open streams or sockets. */
  open(what: 'streams' | 'sockets', change: 1 | -1): void
  /** The same without spans and counts, for reads that no caller waits for. */
  readonly background: Telemetry
}

/** Where a store records its measurements. */
export interface StoreMeter {
  readonly system: DatabaseSystem
  /** Set by each lookup, because a store is opened without a configuration. */
  telemetry: Telemetry | undefined
}
