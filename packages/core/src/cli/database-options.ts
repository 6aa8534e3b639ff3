import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Command, Option } from 'commander'
import type { AuthDefinition } from '../endpoints/definition.ts'
import { ConfigurationError } from '../protocol/errors.ts'

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

/**
 * An auth definition; null where none was named.
 *
 * @param path a module whose default export is what `defineAuth` returned
 * @throws ConfigurationError when it is no such module
 */
export async function loadDefinition(path: string | undefined): Promise<AuthDefinition | null> {
  if (path === undefined) return null
  const module: { default?: AuthDefinition } = await import(pathToFileURL(resolve(path)).href)
  if (module.default?.plugins !== undefined) return module.default
  throw new ConfigurationError(
    `${path}: the default export is no auth definition, as defineAuth() returns it`,
  )
}
