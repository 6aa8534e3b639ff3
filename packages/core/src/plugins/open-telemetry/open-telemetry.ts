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
 * Returns the option `telemetry` of `defineAuthConfig`, which sends spans and metrics to the global providers
 * of OpenTelemetry, whenever your SDK registers them. An error of the SDK changes no response.
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
