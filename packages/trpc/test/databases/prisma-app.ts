import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { PrismaPg } from '@prisma/adapter-pg'
import { Pool } from 'pg'

/** The two commands of Prisma's schema engine that an app runs. */
export interface PrismaApp {
  /** Runs what `prisma db push --accept-data-loss` runs. Throws if it can't apply the schema. */
  push(schema: string): Promise<void>
  /** Returns the SQL of `prisma migrate diff` from the database to a schema. */
  diff(schema: string): Promise<string>
}

/** The parts of `@prisma/schema-engine-wasm` that the tests use. */
interface Engine {
  schemaPush(input: { force: boolean; schema: Files; filters: Filters }): Promise<{ unexecutable: string[] }>
  diff(input: {
    from: { tag: 'schemaDatasource'; configDir: string } & Files
    to: { tag: 'schemaDatamodel' } & Files
    script: boolean
    exitCode: null
    shadowDatabaseUrl: null
    filters: Filters
  }): Promise<{ stdout: string | null }>
  free(): void
}
interface Files {
  readonly files: readonly { path: string; content: string }[]
}
interface Filters {
  readonly externalTables: readonly string[]
  readonly externalEnums: readonly string[]
}
interface EngineModule {
  readonly SchemaEngine: {
    new: (
      options: { datamodels: [path: string, schema: string][] },
      log: (line: string) => void,
      adapter: object,
    ) => Promise<Engine>
  }
}
interface AdapterModule {
  bindMigrationAwareSqlAdapterFactory(factory: PrismaBetterSqlite3 | PrismaPg): object
}

const filters: Filters = { externalTables: [], externalEnums: [] }

/** The types `"char"` and `uuid` of PostgreSQL. */
const [CHAR, UUID] = [18, 2950] as const
/** Prisma's types of a result's columns. */
const [CHARACTER_COLUMN, UUID_COLUMN] = [6, 15] as const

/**
 * The adapter rejects columns of the type `"char"`, which the engine reads from the catalog. They pass
 * through it as `uuid`, which the catalog doesn't have and whose values aren't parsed.
 */
class CatalogAdapter extends PrismaPg {
  constructor(pool: Pool) {
    super(pool)
    pool.on('connect', (client) => {
      if (!('connection' in client && client.connection instanceof EventEmitter)) return
      client.connection.prependListener('rowDescription', ({ fields }: RowDescription) => {
        for (const field of fields) if (field.dataTypeID === CHAR) field.dataTypeID = UUID
      })
    })
  }

  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect()
    const queryRaw = adapter.queryRaw.bind(adapter)
    adapter.queryRaw = async (query) => {
      const result = await queryRaw(query)
      const columnTypes = result.columnTypes.map((type) => (type === UUID_COLUMN ? CHARACTER_COLUMN : type))
      return { ...result, columnTypes }
    }
    return adapter
  }
}

/** Opens the database as Prisma's command line does. The adapter of SQLite closes the file after each command. */
function openAdapter(url: string): { adapter: PrismaBetterSqlite3 | PrismaPg; close(): Promise<void> } {
  if (!url.startsWith('postgres'))
    return { adapter: new PrismaBetterSqlite3({ url: `file:${url}` }), close: async () => {} }
  const pool = new Pool({ connectionString: url, max: 2 })
  return { adapter: new CatalogAdapter(pool), close: () => pool.end() }
}

interface RowDescription {
  readonly fields: { dataTypeID: number }[]
}

/** Creates an app whose tables Prisma's schema engine manages. The engine is WebAssembly. */
export async function prismaApp(url: string): Promise<PrismaApp> {
  const core = createRequire(new URL('../../../core/package.json', import.meta.url))
  const pg = createRequire(createRequire(import.meta.url).resolve('@prisma/adapter-pg'))
  const { SchemaEngine } = await importFrom<EngineModule>(core, '@prisma/schema-engine-wasm')
  const { bindMigrationAwareSqlAdapterFactory } = await importFrom<AdapterModule>(
    pg,
    '@prisma/driver-adapter-utils',
  )
  const filesOf = (content: string): Files => ({ files: [{ path: 'schema.prisma', content }] })

  async function withEngine<Result>(
    schema: string,
    run: (engine: Engine) => Promise<Result>,
  ): Promise<Result> {
    const { adapter, close } = openAdapter(url)
    const factory = bindMigrationAwareSqlAdapterFactory(adapter)
    const engine = await SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, factory)
    try {
      return await run(engine)
    } finally {
      engine.free()
      await close()
    }
  }

  return {
    async push(schema) {
      const { unexecutable } = await withEngine(schema, (engine) =>
        engine.schemaPush({ force: true, schema: filesOf(schema), filters }),
      )
      if (unexecutable.length > 0) throw new Error(unexecutable.join('\n'))
    },
    async diff(schema) {
      const { stdout } = await withEngine(schema, (engine) =>
        engine.diff({
          from: { tag: 'schemaDatasource', configDir: '.', ...filesOf(schema) },
          to: { tag: 'schemaDatamodel', ...filesOf(schema) },
          script: true,
          exitCode: null,
          shadowDatabaseUrl: null,
          filters,
        }),
      )
      return stdout ?? ''
    },
  }
}

async function importFrom<Module>(require: NodeJS.Require, name: string): Promise<Module> {
  return import(pathToFileURL(require.resolve(name)).href)
}
