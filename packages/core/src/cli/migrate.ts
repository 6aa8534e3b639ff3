import type { Command } from 'commander'
import { addDatabaseOptions, type DatabaseOptions, withDatabase } from './database.ts'
import { addExamples } from './options.ts'

export function addMigrateCommand(program: Command): void {
  const command = addDatabaseOptions(program.command('migrate'))
    .description('create or update the tables')
    .option('--create', 'create the SQLite file if it is missing', false)
    .action((options: DatabaseOptions) =>
      withDatabase(options, (_database, applied) => {
        for (const name of applied) console.log(`applied ${name}`)
        console.log(applied.length === 0 ? 'up to date' : `${applied.length} applied`)
      }),
    )
  addExamples(
    command,
    'migrate -d file:data/app.db --create',
    'migrate --env .env --auth src/auth.ts   # the database is AUTH_DATABASE_URL or DATABASE_URL',
  )
}
