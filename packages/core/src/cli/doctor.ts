import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { Argument, type Command, CommanderError } from 'commander'
import type { Problem } from '../database/schema/inspect.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { isSecureUrl } from '../protocol/settings.ts'
import { urlInEnvironment } from './database.ts'
import type { Violation } from './doctor/boundary.ts'
import { explain, usageError } from './errors.ts'
import { loadDefinition, requirePackage } from './load-definition.ts'
import {
  addDefinitionOptions,
  addExamples,
  contextPath,
  modulePath,
  proceduresPath,
  schemaOption,
} from './options.ts'

interface DoctorOptions {
  readonly auth: string
  readonly entry: string
  readonly procedures: string
  readonly action: string
  readonly runtime: string
  readonly context: string
  /** True without a URL. */
  readonly database?: string | true
  readonly schema?: string
  readonly json?: true
}

interface CheckReport {
  readonly ok: boolean
  readonly summary: string
  readonly violations?: readonly Violation[]
  readonly problems?: readonly Problem[]
}

/** In the order of the report. */
const CHECKS = { configuration, keys, boundary, database }

const RUNTIME = modulePath('get-auth.ts')
/** The module that an app with Better Auth has instead. */
const GUARD = modulePath('guard.ts')

/** Returns the module with the guard of Better Auth; null in another app, which may have its own guard.ts. */
function findGuard({ runtime }: DoctorOptions): string | null {
  const path = existsSync(runtime) ? runtime : GUARD
  const isGuard = existsSync(path) && readFileSync(path, 'utf8').includes('trpc/better-auth')
  return isGuard ? realpathSync(path) : null
}

/** Returns the checks that run without arguments. Better Auth has its own configuration, keys, and tables. */
function defaultChecks(options: DoctorOptions): readonly string[] {
  return findGuard(options) === null ? ['configuration', 'keys', 'boundary'] : ['boundary']
}

export function addDoctorCommand(program: Command): void {
  const command = addDefinitionOptions(program.command('doctor'))
    .description('check the configuration, the keys, the boundary of the auth definition, and the database')
    .addArgument(
      new Argument('[checks...]', 'what to check (default: all but database)').choices(Object.keys(CHECKS)),
    )
    .option('--entry <path>', 'module that starts the server', modulePath('server.ts'))
    .option('--procedures <path>', 'module with the procedure builders', proceduresPath())
    .option('--action <path>', 'module with the action builder', modulePath('authed-action.ts'))
    .option('--runtime <path>', 'module that exports getAuth, or the guard of Better Auth', RUNTIME)
    .option('--context <path>', 'module that opens the database', contextPath())
    .option('-d, --database [url]', 'check the database, which it never changes (default: of --context)')
    .addOption(schemaOption())
    .option('--json', 'print JSON, also for errors')
  command.action(async (requested: readonly string[], options: DoctorOptions) => {
    const named = (option: keyof DoctorOptions) => command.getOptionValueSource(option) === 'cli'
    const ofDatabase = options.database === undefined ? [] : ['database']
    const wanted = [...requested, ...ofDatabase]
    const checks = wanted.length === 0 ? defaultChecks(options) : wanted
    const reports: (CheckReport & { check: string })[] = []
    for (const [check, run] of Object.entries(CHECKS))
      if (checks.includes(check)) reports.push({ check, ...(await run(options, named).catch(failed)) })
    console.log(options.json ? JSON.stringify(reports, null, 2) : reports.map(format).join('\n'))
    process.exitCode = reports.every(({ ok }) => ok) ? 0 : 1
  })
  addExamples(command, 'doctor --env .env', 'doctor keys --env .env', 'doctor --database --env .env')
}

function failed(error: unknown): CheckReport {
  if (error instanceof CommanderError) throw error
  return { ok: false, summary: explain(error) }
}

async function configuration({ auth }: DoctorOptions): Promise<CheckReport> {
  const definition = await loadDefinition(auth)
  const { config, plugins } = definition
  const { requireSettings } = await import('../endpoints/bind-endpoints.ts')
  requireSettings(definition)
  if (process.env.NODE_ENV === 'production' && !config.secure && isSecureUrl(new URL(config.baseUrl))) {
    throw new ConfigurationError(
      `baseUrl is ${config.baseUrl}, and NODE_ENV is production. Set it to the https address of the app.`,
    )
  }
  // The last one has the columns and hooks of the app.
  const ids = plugins.slice(0, -1).map(({ id }) => id)
  return { ok: true, summary: `${config.baseUrl}, plugins: ${ids.join(', ') || 'none'}` }
}

async function keys({ auth }: DoctorOptions): Promise<CheckReport> {
  const { checkKeys } = await import('./doctor/check-keys.ts')
  return { ok: true, summary: await checkKeys(await loadDefinition(auth)) }
}

async function boundary(
  options: DoctorOptions,
  named: (option: keyof DoctorOptions) => boolean,
): Promise<CheckReport> {
  const find = (option: 'entry' | 'action' | 'runtime') =>
    existsSync(options[option]) || named(option) ? required(option, options) : null
  const app = {
    root: realpathSync('.'),
    entry: find('entry'),
    procedures: required('procedures', options),
    action: find('action'),
    runtime: find('runtime') ?? findGuard(options),
    auth: required('auth', options),
  }
  // Loaded here, so the other checks and commands work without rolldown.
  const { checkBoundary } = await import('./doctor/boundary.ts').catch(requirePackage('rolldown'))
  const { modules, procedureModules, violations } = await checkBoundary(app)
  const checked = `${modules} modules, ${procedureModules} with procedures`
  const missing = `. ${options.entry} doesn't exist, so not all were checked. Pass the server's module as --entry.`
  const unchecked = app.entry === null ? missing : ''
  return violations.length === 0
    ? { ok: true, summary: `${options.procedures} doesn't reach ${options.auth} (${checked})${unchecked}` }
    : { ok: false, summary: violations.map(describe).join('\n\n'), violations }
}

async function database(
  options: DoctorOptions,
  isNamed: (option: keyof DoctorOptions) => boolean,
): Promise<CheckReport> {
  const { auth, context, database, schema } = options
  // Without a definition, the tables of plugins aren't checked.
  const definition = existsSync(auth) || isNamed('auth') ? await loadDefinition(auth) : null
  const plugins = definition?.plugins ?? []
  const { checkDatabase, checkOpened } = await import('./doctor/check-database.ts')
  const opens = typeof database !== 'string' && (existsSync(context) || isNamed('context'))
  if (opens) required('context', options)
  const found = opens ? await checkOpened(context, plugins) : null
  const problems = found ?? (await checkDatabase(urlOf(options, isNamed('context')), { plugins, schema }))
  const lines = problems.map(({ problem, fix }) => `${problem} ${fix}`)
  return problems.length === 0
    ? { ok: true, summary: 'tables, columns, triggers, and functions are complete' }
    : { ok: false, summary: lines.join('\n'), problems }
}

/** @throws CommanderError if the options name no database */
function urlOf({ context, database }: DoctorOptions, isContextNamed: boolean): string {
  if (typeof database === 'string') return database
  if (isContextNamed)
    throw usageError(`${context} opens no database when it is imported. Pass --database <url>.`)
  return urlInEnvironment('--context <path> or --database <url>')
}

/** @throws CommanderError if the file that an option names doesn't exist */
function required(
  option: 'entry' | 'procedures' | 'action' | 'runtime' | 'auth' | 'context',
  options: DoctorOptions,
) {
  if (existsSync(options[option])) return realpathSync(options[option])
  throw usageError(`${options[option]} doesn't exist. Pass --${option}.`)
}

function describe({ chain: [first = '', ...rest], fix }: Violation): string {
  const imports = rest.map((file) => `  imports ${file}\n`).join('')
  return `${first} must not carry the auth definition:\n${imports}${fix}`
}

function format({ check, ok, summary }: CheckReport & { check: string }): string {
  return `${(ok ? 'ok' : 'failed').padEnd(6)}  ${check.padEnd(13)}  ${summary.replaceAll(/\n(?=.)/g, `\n${' '.repeat(23)}`)}`
}
