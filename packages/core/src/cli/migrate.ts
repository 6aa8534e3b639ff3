import { type Command, Option } from 'commander'

/** `sallyport migrate`: brings the tables of a database up to date. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('create or update the tables user, session and account')
    .addOption(
      new Option('-d, --database <url>', 'database to migrate, such as file:data/app.db')
        .env('DATABASE_URL')
        .makeOptionMandatory(),
    )
    .action(async ({ database }: { database: string }) => {
      // Loaded here, so that the other commands work without a database driver.
      const { openSqlite } = await import('../sqlite.ts')
      const { migrations, close } = await openSqlite(database)
      await close()
      for (const name of migrations.applied) console.log(`applied ${name}`)
      console.log(migrations.applied.length === 0 ? 'up to date' : `${migrations.applied.length} applied`)
    })
}
