import type { StoreMeter } from '../events/telemetry.ts'

/** Records how long a caller waits for a connection, even if it gets none. */
export function measureWait<Connection>(
  connecting: Promise<Connection>,
  meter: StoreMeter | undefined,
): Promise<Connection> {
  if (meter?.telemetry === undefined) return connecting
  const { telemetry, system } = meter
  const startedAt = performance.now()
  const record = () => telemetry.record('poolWait', (performance.now() - startedAt) / 1000, { system })
  connecting.then(record, record)
  return connecting
}
