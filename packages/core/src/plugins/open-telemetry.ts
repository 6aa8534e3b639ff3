export type { Telemetry } from '../events/telemetry.ts'
export { openTelemetry } from './open-telemetry/open-telemetry.ts'
