import * as fs from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { ConfigurationError } from '../protocol/errors.ts'
import { databaseFile, ORIGIN } from './generate/database-file.ts'
import { loadDefinition, requirePackage } from './load-definition.ts'
import { addDefinitionOptions, addExamples } from './options.ts'

interface GenerateOptions {
  readonly auth: string
  readonly out?: string
  readonly check?: true
}

export function addGenerateCommand(program: Command): void {
  const command = addDefinitionOptions(program.command('generate'))
    .description('write the columns and tables of the auth definition to a module')
    .option('--out <path>', 'file to write (default: generated/database.ts, beside the definition)')
    .option('--check', 'write nothing, and exit with 1 if the file differs')
    .action(generate)
  addExamples(command, 'generate --env .env', 'generate --check   # in CI')
}

async function generate({ auth, check, out }: GenerateOptions): Promise<void> {
  const path = out ?? join(dirname(auth), 'generated/database.ts')
  const current = readText(path)
  if (check && current === null) throw new ConfigurationError(`${path} is missing. Run "sallyport generate".`)
  if (current?.startsWith(ORIGIN) === false)
    throw new ConfigurationError(`${path} was not written by "sallyport generate". Move it, or pass --out.`)
  const { plugins } = await withPlaceholder(path, () => loadDefinition(auth))
  const { columnsOf } = await import('../database/columns.ts')
  const { readAddedTables } = await import('./generate/read-tables.ts').catch(
    requirePackage('better-sqlite3'),
  )
  const text = databaseFile(columnsOf({ plugins }), await readAddedTables(plugins))
  if (text === current) console.log('up to date')
  else if (check)
    throw new ConfigurationError(`${path} differs from the auth definition. Run "sallyport generate".`)
  else {
    write(path, text)
    console.log(`wrote ${path}`)
  }
}

const NOTHING_ADDED = databaseFile({ user: {}, session: {} }, {})

/** Loads a definition that may import the file before it exists. Cleans up, even on exit. */
async function withPlaceholder<Result>(path: string, load: () => Promise<Result>): Promise<Result> {
  if (fs.existsSync(path)) return load()
  const isNewFolder = write(path, NOTHING_ADDED)
  const remove = () => {
    // Another process may have written the real file.
    if (readText(path) === NOTHING_ADDED) fs.rmSync(path)
    if (isNewFolder && fs.readdirSync(dirname(path)).length === 0) fs.rmdirSync(dirname(path))
  }
  process.once('exit', remove)
  try {
    return await load()
  } finally {
    remove()
    process.off('exit', remove)
  }
}

/** Normalizes line ends, which version control may have changed. */
function readText(path: string): string | null {
  return fs.existsSync(path) ? fs.readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : null
}

/** Replaces the file atomically. Returns whether it created the folder. */
function write(path: string, text: string): boolean {
  // An absolute path: with a relative one Node never returns if the working directory was removed.
  const isNewFolder = fs.mkdirSync(dirname(resolve(path)), { recursive: true }) !== undefined
  const temporary = `${path}.${process.pid}.tmp`
  fs.writeFileSync(temporary, text)
  fs.renameSync(temporary, path)
  return isNewFolder
}
