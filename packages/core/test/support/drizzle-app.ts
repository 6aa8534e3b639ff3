import { execFile } from 'node:child_process'
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryDirectory } from './temporary-directory.ts'

/** An app in a separate folder, whose tables drizzle-kit owns. */
export interface DrizzleApp {
  /** Replaces the schema. */
  write(schema: string): void
  /** Runs `drizzle-kit push --force`, and returns its output with the statements. */
  push(): Promise<string>
  /** Runs `drizzle-kit generate`, then `drizzle-kit migrate`. */
  migrate(): Promise<string>
  /** The same, as an app does whose other tables exist: its first migration is only about this table. */
  migrateOnly(table: string): Promise<string>
}

/** Separates the statements of a migration. */
const BREAKPOINT = '--> statement-breakpoint'

const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const DRIZZLE_KIT = fileURLToPath(new URL('bin.cjs', import.meta.resolve('drizzle-kit')))

/** Creates an app with a Drizzle schema. Its packages are those of the workspace. */
export function drizzleApp(url: string, schema: string): DrizzleApp {
  const folder = temporaryDirectory()
  const dialect = url.startsWith('postgres') ? 'postgresql' : 'sqlite'
  symlinkSync(NODE_MODULES, join(folder, 'node_modules'))
  const config = {
    dialect,
    schema: './schema.ts',
    out: './migrations',
    dbCredentials: { url },
    verbose: true,
  }
  writeFileSync(join(folder, 'drizzle.config.ts'), `export default ${JSON.stringify(config)}`)
  const write = (text: string) => writeFileSync(join(folder, 'schema.ts'), text)
  write(schema)

  async function run(...args: string[]): Promise<string> {
    const running = promisify(execFile)(process.execPath, [DRIZZLE_KIT, ...args], { cwd: folder })
    running.child.stdin?.end()
    const { stdout, stderr, code } = await running.then(
      (output) => ({ ...output, code: 0 }),
      (error: { stdout: string; stderr: string; code: number }) => error,
    )
    // Without a terminal, drizzle-kit may exit with 0 after an error.
    if (code !== 0 || /error/i.test(stderr))
      throw new Error(`drizzle-kit ${args.join(' ')}: ${firstError(stderr)}`)
    return stdout
  }

  return {
    write,
    push: () => run('push', '--force'),
    migrate: async () => (await run('generate')) + (await run('migrate')),
    async migrateOnly(table) {
      const generated = await run('generate')
      for (const file of globSync(join(folder, 'migrations', '*.sql'))) {
        const statements = readFileSync(file, 'utf8').split(BREAKPOINT)
        const kept = statements.filter((statement) => new RegExp(`TABLE .${table}.`).test(statement))
        writeFileSync(file, kept.join(BREAKPOINT))
      }
      return generated + (await run('migrate'))
    },
  }
}

const firstError = (text: string) => text.split('\n').find((line) => /error/i.test(line))
