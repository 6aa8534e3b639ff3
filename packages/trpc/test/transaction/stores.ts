import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthContext } from '@sallyport/trpc'
import { afterAll } from 'vitest'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import type { SignedIn } from '../revocation/signed-in-users.ts'
import { callerPaths, type Outcome, outcomeOf } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'
import { createNoteCaller, type NoteContext, type noteRouter, type Script } from './note-router.ts'
import { type App, type AppOptions, openApp } from './open-app.ts'

async function sqliteUrl(): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  return `file:${join(directory, 'app.db')}`
}

/** Returns the URL of a database on a separate server. */
export async function postgresUrl(): Promise<string> {
  const server = await testPostgres()
  return server.createDatabase('app')
}

/** The app's databases, which are removed after the file's tests. */
export const STORES = [
  { engine: 'SQLite', createDatabase: sqliteUrl },
  { engine: 'PostgreSQL', createDatabase: postgresUrl },
] as const

/** Opens the app for the file's tests. */
export async function openForTests(url: string, options?: AppOptions): Promise<App> {
  const app = await openApp(url, options)
  afterAll(app.close)
  return app
}

/** Creates the context of a browser's call. */
export function contextOf(
  app: Pick<App, 'config' | 'db'>,
  session: SignedIn,
  script: Script = {},
): NoteContext {
  return { ...createAuthContext(app.config).headers(browser(session).headers), db: app.db, script }
}

/** Calls a procedure that writes a note. */
export function call(
  procedure: keyof typeof noteRouter._def.procedures,
  context: NoteContext,
  signal?: AbortSignal,
): Promise<Outcome> {
  const caller = createNoteCaller(context, {
    ...(signal !== undefined && { signal }),
    onError({ error, path }) {
      if (path !== undefined) callerPaths.set(error, path)
    },
  })
  return outcomeOf(caller[procedure]())
}
