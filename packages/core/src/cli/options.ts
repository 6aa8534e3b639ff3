import { type Command, Option } from 'commander'

/** Where the tables are, and who owns some of them. */
export interface DatabaseOptions {
  readonly database: string
  readonly auth?: string
}

/** Adds the options that every command on a database has. */
export function addDatabaseOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-d, --database <url>', 'database, such as file:data/app.db or postgres://user@host/app')
        .env('DATABASE_URL')
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--auth <path>',
        'module whose default export is the auth definition, for the tables of plugins',
      ),
    )
    .addOption(envFile())
}

/** An env file, which is loaded while the options are read: others may stand in it. */
export function envFile(): Option {
  return new Option('-e, --env <path>', 'env file to load first').argParser((path: string) => {
    process.loadEnvFile(path)
    return path
  })
}
