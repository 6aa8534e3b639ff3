import { type Command, InvalidArgumentError, Option } from 'commander'

export interface DatabaseOptions {
  readonly database: string
  readonly auth?: string
}

/** Adds the options of every command that works on a database. */
export function addDatabaseOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-d, --database <url>', 'database, such as file:data/app.db or postgres://user@host/app')
        .env('DATABASE_URL')
        .makeOptionMandatory(),
    )
    .option('--auth <path>', 'module whose default export is the auth definition, for the tables of plugins')
    .addOption(envFile())
}

/** Creates the option for an env file. It is loaded at once, because it can have values of other options. */
export function envFile(): Option {
  return new Option('-e, --env <path>', 'env file to load first').argParser((path: string) => {
    process.loadEnvFile(path)
    return path
  })
}

export function positiveInteger(value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It must be a positive whole number.')
}
