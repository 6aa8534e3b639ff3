import type { Telemetry } from '../../events/telemetry.ts'
import { addToCounter, changeOpen, recordValue } from './metrics.ts'
import { runDetached, traceWork } from './spans.ts'

const background: Telemetry = {
  trace: (_operation, work) => runDetached(work),
  count() {},
  record: recordValue,
  detach: runDetached,
  open: changeOpen,
  get background() {
    return background
  },
}

const telemetry: Telemetry = {
  trace: traceWork,
  count: addToCounter,
  record: recordValue,
  detach: runDetached,
  open: changeOpen,
  background,
}

/**
 * Creates the `telemetry` option of `defineAuthConfig`. Sends spans and metrics to OpenTelemetry's global
 * providers, even if your SDK registers them later. An error in the SDK never changes a response.
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
