import type { Command } from 'commander'
import { loadDefinition } from './load-definition.ts'
import { addDatabaseOptions, type DatabaseOptions } from './options.ts'

/** Adds `sallyport migrate`, which updates the tables of a database. */
export function addMigrateCommand(program: Command): void {
  addDatabaseOptions(program.command('migrate'))
    .description('create or update the tables')
    .action(async ({ database: url, auth }: DatabaseOptions) => {
      // Loaded here, so the other commands work without a database driver.
      const { openDatabase } = await import('./open-database.ts')
      const { migratePlugins } = await import('../database/columns.ts')
      const definition = auth === undefined ? null : await loadDefinition(auth)
      const database = await openDatabase(url)
      try {
        const ofPlugins = await migratePlugins(definition?.plugins ?? [], database)
        const applied = [...database.migrations.applied, ...ofPlugins.applied]
        for (const name of applied) console.log(`applied ${name}`)
        console.log(applied.length === 0 ? 'up to date' : `${applied.length} applied`)
      } finally {
        await database.close()
      }
    })
}
