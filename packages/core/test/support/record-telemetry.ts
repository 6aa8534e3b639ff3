import type { Telemetry } from '../../src/events/telemetry.ts'

/** A call of a telemetry. */
type Call = [method: 'trace' | 'count' | 'record' | 'open', ...parameters: unknown[]]

/** Returns telemetry that keeps its calls, in order. Those of its background aren't kept. */
export function recordTelemetry(): { readonly telemetry: Telemetry; readonly recorded: readonly Call[] } {
  const recorded: Call[] = []
  const background = recorder([])
  return { telemetry: { ...recorder(recorded), background }, recorded }
}

function recorder(recorded: Call[]): Telemetry {
  const telemetry: Telemetry = {
    trace(operation, work) {
      recorded.push(['trace', operation])
      return work()
    },
    count: (...parameters) => void recorded.push(['count', ...parameters]),
    record: (...parameters) => void recorded.push(['record', ...parameters]),
    detach: (work) => work(),
    open: (...parameters) => void recorded.push(['open', ...parameters]),
    get background() {
      return telemetry
    },
  }
  return telemetry
}
