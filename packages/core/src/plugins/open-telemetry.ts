export { openTelemetry } from './open-telemetry/open-telemetry.ts'
