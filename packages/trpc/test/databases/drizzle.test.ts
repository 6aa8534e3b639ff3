import { type AuthDatabase, withAuthStore } from '@sallyport/core'
import { expect, test } from 'vitest'
import {
  type DatabaseKind,
  databaseKinds,
  type TestDatabase,
} from '../../../core/test/support/database-kinds.ts'
import { type DrizzleApp, drizzleApp } from '../../../core/test/support/drizzle-app.ts'
import {
  betterAuthTables,
  type HostTables,
  hostApp,
  libraryTables,
} from '../../../core/test/support/host-tables.ts'
import { guardedApp } from './guarded-app.ts'

/** `pnpm test:databases` runs every combination, and the tool once more while the store is closed. */
const IS_LONG = process.env.DATABASES === 'all'

/** How the app opens the store, and on which tables. */
interface Opening {
  readonly name: string
  tables(engine: DatabaseKind['name']): HostTables
  /** Whether the tool creates the tables before the store opens. */
  readonly isToolFirst: boolean
  open(database: TestDatabase, tables: HostTables): Promise<{ db: AuthDatabase; close(): Promise<void> }>
}

const OPENINGS: readonly Opening[] = [
  {
    name: 'a mapped store',
    tables: betterAuthTables,
    isToolFirst: true,
    async open(database, { mapping }) {
      const store = await database.openStore(mapping ?? {})
      return { db: withAuthStore({}, store), close: store.close }
    },
  },
  {
    name: 'tables that the app migrates',
    tables: libraryTables,
    isToolFirst: true,
    open: (database) => database.open({ migrate: false }),
  },
  {
    name: 'tables that the library migrates',
    tables: libraryTables,
    isToolFirst: false,
    open: (database) => database.open(),
  },
  {
    name: 'tables that the tool creates and the library migrates',
    tables: libraryTables,
    isToolFirst: true,
    open: (database) => database.open(),
  },
]

interface Tool {
  readonly tool: string
  run(app: DrizzleApp): Promise<unknown>
  /** Creates the table of the app when the others exist. */
  addNote(app: DrizzleApp, database: TestDatabase): Promise<unknown>
}

const TOOLS: readonly Tool[] = [
  {
    tool: 'push',
    run: (app) => app.push(),
    // drizzle-kit asks whether a new table is an unknown one, renamed, which needs a terminal.
    addNote: (_app, database) =>
      database.run('create table note (id text primary key not null, user_id text)'),
  },
  {
    tool: 'generate and migrate',
    run: (app) => app.migrate(),
    addNote: (app) => app.migrateOnly('note'),
  },
]

const CHANGES = [
  { change: 'a changed column', isChanged: true },
  { change: 'no change', isChanged: false },
]

const kinds = await databaseKinds()
const all = kinds.flatMap((kind) =>
  OPENINGS.flatMap((opening) =>
    TOOLS.flatMap((tool) =>
      CHANGES.map((change) => ({
        kind,
        opening,
        ...tool,
        ...change,
        engine: kind.name,
        store: opening.name,
      })),
    ),
  ),
)
const seeded = all.filter(
  ({ tool, isChanged, engine, store }) =>
    tool === 'push' && isChanged && engine === 'PostgreSQL' && store === 'tables that the library migrates',
)

for (const { kind, opening, run, addNote, isChanged, engine, ...name } of IS_LONG ? all : seeded) {
  const { tool: command, change, store } = name
  test(`drizzle-kit ${command} with ${change} on ${engine}, beside ${store}, breaks no statement of the app`, async () => {
    const tables = opening.tables(engine)
    const database = await kind.create()
    const tool = drizzleApp(database.url, tables.schema)
    const host = hostApp(database, tables)
    const sessions = async () => (await database.rows('select id from session')).map(({ id }) => id)
    // drizzle-kit may exit with 0 although it did nothing.
    const isApplied = async () => 'locale' in ((await database.rows('select * from "user"'))[0] ?? {})
    const open = async () => {
      const store = await opening.open(database, tables)
      return { ...store, ...guardedApp(store.db) }
    }

    if (opening.isToolFirst) await run(tool)
    let app = await open()
    if (!opening.isToolFirst) await addNote(tool, database)
    const before = await host.signUp()
    const watched = await host.signUp()
    const stream = await app.subscribe(watched)
    await host.runAll()
    expect(host.failed, 'while the store is open').toEqual([])

    // The tool runs while the app is running.
    if (isChanged) tool.write(tables.changedSchema)
    await run(tool)
    expect(await isApplied()).toBe(isChanged)
    await host.runAll()
    expect(host.failed, 'after the tool ran while the store is open').toEqual([])
    expect(await sessions()).toEqual(expect.arrayContaining([before.id, watched.id]))
    expect(await app.call(before)).toBeNull()
    expect(stream.reason).toBeNull()
    await host.deleteSession(watched)
    expect(await stream.ended).toBe('SESSION_NOT_FOUND')
    expect(await app.call(watched)).toBe('SESSION_NOT_FOUND')

    await app.close()
    await host.runAll()
    expect(host.failed, 'while the store is closed').toEqual([])
    // The tool runs before the app starts.
    if (IS_LONG) {
      if (isChanged) tool.write(tables.schema)
      await run(tool)
      expect(await isApplied()).toBe(false)
      await host.runAll()
      expect(host.failed, 'after the tool ran while the store is closed').toEqual([])
    }

    app = await open()
    expect(await app.call(before)).toBeNull()
    const again = await app.subscribe(before)
    await host.runAll()
    await host.deleteSession(before)
    expect(await again.ended).toBe('SESSION_NOT_FOUND')
    expect(host.failed, 'after a restart').toEqual([])
    await app.close()
  })
}
