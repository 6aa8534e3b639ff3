import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { PruneReport } from '../lifecycle/prune.ts'
import { loadDefinition } from './load-definition.ts'
import { addDatabaseOptions, type DatabaseOptions } from './options.ts'

interface PruneCommandOptions extends DatabaseOptions {
  readonly every?: number
  readonly auditDays: number
  readonly batchSize: number
}

/** `sallyport prune`: removes expired rows, once or on a schedule. */
export function addPruneCommand(program: Command): void {
  addDatabaseOptions(program.command('prune'))
    .description('remove expired sessions, counters and old records')
    .addOption(new Option('--every <seconds>', 'again and again, until it is stopped').argParser(seconds))
    .addOption(
      new Option('--audit-days <days>', 'how long records are kept; Infinity is for ever')
        .default(365)
        .argParser(daysOrForever),
    )
    .addOption(new Option('--batch-size <rows>', 'rows in one transaction').default(500).argParser(positive))
    .action(async ({ database: url, auth, every, auditDays, batchSize }: PruneCommandOptions) => {
      const { openDatabase } = await import('./open-database.ts')
      const { migratePlugins } = await import('../database/migrate-plugins.ts')
      const { prune } = await import('../lifecycle/prune.ts')
      const { expiringTables, observed } = await import('../lifecycle/observed-database.ts')
      const definition = auth === undefined ? null : await loadDefinition(auth)
      const tables = expiringTables(definition?.plugins ?? [])
      // Its tables must be there, and a mistyped path must not become a new file.
      const database = await openDatabase(url, { create: false })
      await migratePlugins(definition?.plugins ?? [], database)
      const stopped = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())
      try {
        const round = async () => {
          const options = { now: new Date(), tables, auditDays, batchSize, onProgress: printProgress }
          printResult(await prune(observed(database, definition), options))
        }
        await round()
        // A later one that finds the file busy is not the last.
        while (every !== undefined && (await passed(every, stopped.signal))) await round().catch(printFailure)
      } finally {
        await database.close()
      }
    })
}

/** False when it was stopped before. */
function passed(seconds: number, signal: AbortSignal): Promise<boolean> {
  return sleep(seconds * 1000, true, { signal }).catch(() => false)
}

function daysOrForever(value: string): number {
  return value === 'Infinity' ? Number.POSITIVE_INFINITY : positive(value)
}

function seconds(value: string): number {
  const parsed = positive(value)
  // A timer that is set to more fires at once.
  if (parsed <= 2_147_483) return parsed
  throw new InvalidArgumentError('It must be at most 2147483.')
}

function positive(value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It must be a positive whole number.')
}

/** One line that is written over. In a file there is only the last. */
function printProgress(report: PruneReport): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${format(report)}`)
}

function printResult(report: PruneReport): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  console.log(format(report))
}

function format(report: PruneReport): string {
  const counts = Object.entries(report).map(([table, rows]) => `${table} ${rows}`)
  return `removed ${counts.join(', ')}`
}

function printFailure(error: unknown): void {
  console.error(error instanceof Error ? error.message : error)
}
