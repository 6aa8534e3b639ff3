import { existsSync, readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { INTERNAL_SCHEMA } from '../database/schema/internal-tables.ts'

/** Returns the path of a module of the app: in `src`, unless only the current folder has `auth.ts`. */
export function modulePath(file: string): string {
  const isInSource = [file, 'auth.ts'].some((name) => existsSync(`src/${name}`))
  return isInSource || !existsSync('auth.ts') ? `src/${file}` : file
}

/** Returns the path of the module that opens the database. `init` writes `auth-server.ts` beside a server. */
export function contextPath(): string {
  const ofServer = modulePath('auth-server.ts')
  return existsSync(ofServer) ? ofServer : modulePath('context.ts')
}

/** Returns the path of the module with the procedure builders. In the quick start, it's the router. */
export function proceduresPath(): string {
  const procedures = modulePath('procedures.ts')
  const router = modulePath('router.ts')
  const isRouter =
    !existsSync(procedures) && existsSync(router) && readFileSync(router, 'utf8').includes('initTRPC')
  return isRouter ? router : procedures
}

/** Adds `--auth` with the usual path, and `--env`. */
export function addDefinitionOptions(command: Command): Command {
  return command
    .option('--auth <path>', 'module with the auth definition', modulePath('auth.ts'))
    .addOption(envFile())
}

/** Creates the option for an env file. It is loaded at once, because it can have values of other options. */
export function envFile(): Option {
  return new Option('-e, --env <path>', 'env file to load first').argParser((path: string) => {
    try {
      process.loadEnvFile(path)
    } catch {
      throw new InvalidArgumentError('The file could not be read. Check the path.')
    }
    return path
  })
}

export function schemaOption(): Option {
  return new Option('--schema <name>', 'schema of our internal tables in PostgreSQL').default(INTERNAL_SCHEMA)
}

/** How a command writes files of the app. */
export interface WriteOptions {
  readonly yes?: true
  readonly dryRun?: true
  readonly force?: true
}

export function addWriteOptions(command: Command): Command {
  return command
    .option('-y, --yes', 'write without asking')
    .option('--dry-run', 'show the changes, and write nothing')
    .option('--force', 'write even if Git has uncommitted changes')
}

export function addExamples(command: Command, ...examples: readonly string[]): Command {
  const lines = examples.map((example) => `  $ sallyport ${example}`)
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

export function positiveInteger(value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It must be a positive whole number.')
}
