import { EventEmitter, on } from 'node:events'

/** Identifies a report. Clients choose the ids, so the user is part of it. */
interface ReportKey {
  readonly userId: string
  readonly id: string
}

/** The progress of the reports that this process is writing, in percent. */
const written = new Map<string, number>()
const changes = new EventEmitter().setMaxListeners(0)

/** Writes a report and publishes its progress to {@link progressOf}. */
export async function withProgress<Result>(
  report: ReportKey,
  write: (onProgress: (percent: number) => void) => Promise<Result>,
): Promise<Result> {
  const name = nameOf(report)
  try {
    return await write((percent) => {
      written.set(name, percent)
      changes.emit(name, percent)
    })
  } finally {
    written.delete(name)
    changes.emit(name, null)
  }
}

/** Yields the progress of a report until it is written or has failed. Waits if it hasn't started. */
export async function* progressOf(report: ReportKey, signal: AbortSignal): AsyncGenerator<number> {
  const name = nameOf(report)
  const updates = on(changes, name, { signal })
  const current = written.get(name)
  if (current !== undefined) yield current
  for await (const [percent] of updates) {
    if (percent === null) return
    yield percent
  }
}

const nameOf = ({ userId, id }: ReportKey): string => `${userId} ${id}`
