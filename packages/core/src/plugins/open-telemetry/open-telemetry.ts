import type { Telemetry } from '../../events/telemetry.ts'
import { addToCounter, changeOpen, recordValue } from './metrics.ts'
import { traceWork } from './spans.ts'

const background: Telemetry = {
  trace: (_operation, work) => work(),
  count() {},
  record: recordValue,
  open: changeOpen,
  get background() {
    return background
  },
}

const telemetry: Telemetry = {
  trace: traceWork,
  count: addToCounter,
  record: recordValue,
  open: changeOpen,
  background,
}

/**
 * Returns spans and metrics for OpenTelemetry, as the option `telemetry` of `defineAuthConfig`. They go to the
 * global providers, whenever your SDK registers them. Without an SDK, they go nowhere. An error of the SDK
 * changes no response.
 *
 * @example
 * export const authConfig = defineAuthConfig({
 *   baseUrl: env.BASE_URL,
 *   jwks: staticJwks(env.JWKS),
 *   telemetry: openTelemetry(),
 * })
 */
export function openTelemetry(): Telemetry {
  return telemetry
}
