import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CommanderError } from 'commander'

/** The files of an app that the rule of the auth definition is about, as options of the command. */
export interface AppFileOptions {
  readonly entry: string
  readonly procedures: string
  readonly action: string
  readonly auth: string
  readonly out?: string
}

/** The same as real paths; null where there is no such file. */
export interface AppFiles {
  /** The folder of the app: what lies outside of it, or in `node_modules`, is a library. */
  readonly root: string
  readonly entry: string | null
  readonly procedures: string | null
  readonly action: string | null
  readonly auth: string | null
  readonly generatedAuth: string | null
  readonly generatedSession: string | null
}

/**
 * Finds the files of an app.
 *
 * @param options.root the folder that the files are relative to
 * @param options.named the files that were named: these must be there
 * @throws CommanderError when one is not, or there is nothing to look at
 */
export function findAppFiles(
  { entry, procedures, action, auth, out = join(dirname(auth), 'generated') }: AppFileOptions,
  { root, named }: { root: string; named: ReadonlySet<keyof AppFileOptions> },
): AppFiles {
  const paths = { entry, procedures, action, auth, out }
  for (const option of named) {
    if (!existsSync(resolve(root, paths[option])))
      throw usageError(`--${option}: there is no ${paths[option]}`)
  }
  const find = (path: string) => (existsSync(resolve(root, path)) ? realpathSync(resolve(root, path)) : null)
  const files = { entry: find(entry), procedures: find(procedures), action: find(action) }
  if (Object.values(files).every((file) => file === null)) {
    throw usageError(
      `There is neither ${entry} nor ${procedures} nor ${action}: name a file of the app, such as --entry src/server.ts`,
    )
  }
  return {
    root: realpathSync(root),
    ...files,
    auth: find(auth),
    generatedAuth: find(join(out, 'auth.ts')),
    generatedSession: find(join(out, 'session.ts')),
  }
}

function usageError(message: string): CommanderError {
  return new CommanderError(2, 'sallyport.files', message)
}
