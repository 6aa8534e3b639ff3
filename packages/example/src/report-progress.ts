import { EventEmitter, on } from 'node:events'

/** A report, by whoever ordered it: users choose the ids. */
interface ReportKey {
  readonly userId: string
  readonly id: string
}

/** How far the reports are that are being written in this process, in percent. */
const written = new Map<string, number>()
const changes = new EventEmitter().setMaxListeners(0)

/** Has a report written, and tells {@link progressOf} how far it is. */
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

/** How far a report is, until it is written or has failed. Whoever comes before it is ordered waits for it. */
export async function* progressOf(report: ReportKey, signal: AbortSignal): AsyncGenerator<number> {
  const name = nameOf(report)
  const further = on(changes, name, { signal })
  const soFar = written.get(name)
  if (soFar !== undefined) yield soFar
  for await (const [percent] of further) {
    if (percent === null) return
    yield percent
  }
}

const nameOf = ({ userId, id }: ReportKey): string => `${userId} ${id}`
