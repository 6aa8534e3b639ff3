import type { AuthConfig } from '../config.ts'
import type { Operation } from '../events/telemetry.ts'

type Place = Omit<Extract<Operation, { name: 'endpoint' }>, 'name'>

/** Runs a call to an endpoint, in a span if the configuration has telemetry. */
export function traceEndpoint<Result>(
  place: Place,
  { telemetry }: AuthConfig,
  work: () => Promise<Result>,
): Promise<Result> {
  return telemetry === undefined ? work() : telemetry.trace({ name: 'endpoint', ...place }, work)
}
