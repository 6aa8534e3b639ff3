import type { AuthConfig } from '../config.ts'
import { Fault } from '../events/failure-code.ts'
import { createFailureSource, reportSource } from '../events/failure-source.ts'
import type { SessionDatabase } from './session-database.ts'

type WatchedFile = Pick<SessionDatabase, 'isReplaced'>

const FILE_CHECK_MS = 1_000

/** Reports within a second that the file of a database is gone, or back. Returns a function that stops it. */
export function watchFile({ isReplaced }: WatchedFile, config: AuthConfig): () => void {
  if (isReplaced === undefined) return () => {}
  const source = createFailureSource()
  const stopReporting = reportSource(source, 'file', config)
  const timer = setInterval(() => {
    if (!isReplaced()) source.recover()
    else if (source.current === null) source.fail('DATABASE_FILE_REPLACED', fileReplaced())
  }, FILE_CHECK_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    stopReporting()
  }
}

/** @throws Fault if the file was removed or replaced */
export function requireFile({ isReplaced }: WatchedFile): void {
  if (isReplaced?.()) throw fileReplaced()
}

const fileReplaced = () =>
  new Fault(
    'DATABASE_FILE_REPLACED',
    'The SQLite file was removed or replaced. Put it back, then restart this process',
  )
