import * as fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { Engine } from '../database/schema/mapping.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { isPostgresUrl, urlInEnvironment } from './database.ts'
import { databaseFile } from './generate/database-file.ts'
import type { SchemaName } from './generate/schemas.ts'
import { readIfExists } from './init/changes.ts'
import { loadDefinition } from './load-definition.ts'
import { addDefinitionOptions, addExamples } from './options.ts'

const SCHEMA_NAMES: readonly SchemaName[] = ['kysely', 'drizzle', 'prisma', 'sql']

interface GenerateOptions {
  readonly auth: string
  readonly schema: SchemaName
  readonly dialect?: Engine
  readonly out?: string
  readonly check?: true
}

export function addGenerateCommand(program: Command): void {
  const command = addDefinitionOptions(program.command('generate'))
    .description('write the columns and tables of the auth definition to a file')
    .addOption(
      new Option('--schema <tool>', 'tool to write them for').choices(SCHEMA_NAMES).default('kysely'),
    )
    .addOption(
      new Option(
        '--dialect <database>',
        'database of the schema (default: that of AUTH_DATABASE_URL or DATABASE_URL; Kysely needs none)',
      ).choices(['sqlite', 'postgres']),
    )
    .option('--out <path>', 'file to write (default: generated/database.ts, beside the definition)')
    .option('--check', 'write nothing, and exit with 1 if the file differs')
    .action(generate)
  addExamples(
    command,
    'generate --env .env',
    'generate --schema drizzle --dialect postgres --out src/db/auth-schema.ts',
    'generate --check   # in CI',
  )
}

async function generate({ auth, schema, check, out, ...options }: GenerateOptions): Promise<void> {
  // Loaded here, so the other commands start without Kysely.
  const { SCHEMAS } = await import('./generate/schemas.ts')
  const { file, isOurs, write: writeSchema } = SCHEMAS[schema]
  const dialect = options.dialect ?? dialectOf(schema)
  const path = out ?? file(dirname(auth))
  const rerun = `Run "sallyport generate${schema === 'kysely' ? '' : ` --schema ${schema}`}".`
  const current = readIfExists(path)
  if (check && current === null) throw new ConfigurationError(`${path} is missing. ${rerun}`)
  if (current !== null && !isOurs(current))
    throw new ConfigurationError(`${path} was not written by "sallyport generate". Move it, or pass --out.`)
  const load = () => loadDefinition(auth)
  const { plugins } = await (schema === 'kysely' ? withPlaceholder(path, load) : load())
  const { schemaTables } = await import('./generate/schema-tables.ts')
  const { columns, tables } = await schemaTables(plugins, { schema, dialect })
  const text = writeSchema({ columns, tables, dialect, path, current })
  if (text === current) console.log('up to date')
  else if (check) throw new ConfigurationError(`${path} differs from the auth definition. ${rerun}`)
  else {
    write(path, text)
    console.log(`wrote ${path}`)
  }
}

/** @throws CommanderError if the environment doesn't name the database */
function dialectOf(schema: SchemaName): Engine {
  // Kysely's types are the same for both.
  if (schema === 'kysely') return 'sqlite'
  return isPostgresUrl(urlInEnvironment('--dialect')) ? 'postgres' : 'sqlite'
}

const NOTHING_ADDED = databaseFile({ user: {}, session: {} }, {})

/** Loads a definition that may import the file before it exists. Cleans up, even on exit. */
async function withPlaceholder<Result>(path: string, load: () => Promise<Result>): Promise<Result> {
  if (fs.existsSync(path)) return load()
  const absolute = resolve(path)
  const created = write(absolute, NOTHING_ADDED)
  const remove = () => {
    // Another process may have written the real file.
    if (readIfExists(absolute) === NOTHING_ADDED) fs.rmSync(absolute)
    let folder = dirname(absolute)
    while (created !== undefined && folder.startsWith(created) && isEmpty(folder)) {
      fs.rmdirSync(folder)
      folder = dirname(folder)
    }
  }
  process.once('exit', remove)
  try {
    return await load()
  } finally {
    remove()
    process.off('exit', remove)
  }
}

const isEmpty = (folder: string): boolean => fs.existsSync(folder) && fs.readdirSync(folder).length === 0

/** Replaces the file atomically. Returns the outermost folder that it created. */
function write(path: string, text: string): string | undefined {
  // An absolute path: with a relative one Node never returns if the working directory was removed.
  const created = fs.mkdirSync(dirname(resolve(path)), { recursive: true })
  const temporary = `${path}.${process.pid}.tmp`
  fs.writeFileSync(temporary, text)
  fs.renameSync(temporary, path)
  return created
}
