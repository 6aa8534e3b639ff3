import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { PruneReport } from '../lifecycle/prune.ts'
import { addContextOptions, withAppDatabase, withListener } from './app-database.ts'
import { explain } from './errors.ts'
import { loadDefinition } from './load-definition.ts'
import { addExamples, positiveInteger } from './options.ts'

interface PruneCommandOptions {
  readonly auth?: string
  readonly every?: number
  readonly auditDays: number
  readonly batchSize: number
}

export function addPruneCommand(program: Command): void {
  const command = addContextOptions(program.command('prune'))
    .description('remove expired sessions, counters, and old audit records')
    .addOption(new Option('--every <seconds>', 'repeat until stopped').argParser(timerSeconds))
    .addOption(
      new Option('--audit-days <days>', 'how long to keep audit records; Infinity keeps them forever')
        .default(365)
        .argParser((value) => (value === 'Infinity' ? Number.POSITIVE_INFINITY : positiveInteger(value))),
    )
    .addOption(new Option('--batch-size <rows>', 'rows per commit').default(500).argParser(positiveInteger))
    .action(({ every, auditDays, batchSize, auth }: PruneCommandOptions) =>
      withAppDatabase(command, async (database) => {
        const definition = auth === undefined ? null : await loadDefinition(auth)
        const { prune } = await import('../lifecycle/prune.ts')
        const tables = definition?.plugins.flatMap(({ expiringTables = [] }) => expiringTables) ?? []
        const stopped = new AbortController()
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())
        let removed: PruneReport = {}
        const onProgress = (report: PruneReport) => {
          removed = report
          printProgress(report)
          stopped.signal.throwIfAborted()
        }
        const round = async () => {
          const settings = { now: new Date(), tables, auditDays, batchSize, onProgress }
          const pruned = withListener(database, definition, (observed) => prune(observed, settings))
          await pruned.catch((error: unknown) => {
            if (error !== stopped.signal.reason) throw error
          })
          if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
          console.log(format(removed))
        }
        await round()
        // If a later round fails, for example because the file is busy, the next one still runs.
        while (every !== undefined && (await passed(every, stopped.signal)))
          await round().catch((error: unknown) => console.error(explain(error)))
        if (every === undefined && stopped.signal.aborted)
          throw new Error('Stopped. Run it again to remove the rest.')
      }),
    )
  addExamples(command, 'prune --env .env --auth src/auth.ts', 'prune -d file:data/app.db --every 3600')
}

/** Returns false if the wait was stopped. */
function passed(seconds: number, signal: AbortSignal): Promise<boolean> {
  return sleep(seconds * 1000, true, { signal }).catch(() => false)
}

function timerSeconds(value: string): number {
  const seconds = positiveInteger(value)
  // A timer with a longer delay fires at once.
  if (seconds <= 2_147_483) return seconds
  throw new InvalidArgumentError('It must be at most 2147483.')
}

/** Overwrites one line of a terminal. Prints nothing to a file. */
function printProgress(report: PruneReport): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${format(report)}`)
}

function format(report: PruneReport): string {
  const removed = Object.entries(report).map(([table, rows]) => `${table} ${rows}`)
  return `removed ${removed.join(', ')}`
}
