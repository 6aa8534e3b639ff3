import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ConfigurationError } from '../../protocol/errors.ts'
import { ORIGIN } from './generated-text.ts'

/** The generated files by name. */
export type GeneratedFiles = Readonly<Record<'auth.ts' | 'session.ts' | 'database.ts', string>>

/** The paths of the files in a folder that are not as they should be, or not there. */
export function differingFiles(folder: string, files: GeneratedFiles): string[] {
  return Object.entries(files)
    .map(([name, text]) => [join(folder, name), text] as const)
    .filter(([path, text]) => readText(path) !== text)
    .map(([path]) => path)
}

/** The paths of the files that are not there. */
export function missingFiles(folder: string, files: GeneratedFiles): string[] {
  return Object.keys(files)
    .map((name) => join(folder, name))
    .filter((path) => !existsSync(path))
}

/**
 * Looks whether the files in a folder may be replaced: only what this command has written is.
 *
 * @throws ConfigurationError naming one of another origin
 */
export function refuseForeignFiles(folder: string, files: GeneratedFiles): void {
  const foreign = Object.keys(files)
    .map((name) => join(folder, name))
    .find((path) => readText(path)?.startsWith(ORIGIN) === false)
  if (foreign === undefined) return
  throw new ConfigurationError(
    `${foreign} was not written by "sallyport generate" and would be lost: move it, or name another folder by --out`,
  )
}

/** Writes the files that are not as they should be, each at one stroke, and returns their paths. */
export function writeFiles(folder: string, files: GeneratedFiles): string[] {
  makeFolder(folder)
  return Object.entries(files)
    .map(([name, text]) => [join(folder, name), text] as const)
    .filter(([path, text]) => readText(path) !== text)
    .map(([path, text]) => {
      writeAtomically(path, text)
      return path
    })
}

/**
 * Does something while those of the files that are missing are there for it to import. They are taken away again afterwards, also when it
 * ends the process.
 */
export async function withFiles<Result>(
  folder: string,
  files: GeneratedFiles,
  work: () => Promise<Result>,
): Promise<Result> {
  const isNew = !existsSync(folder)
  const added = missingFiles(folder, files)
  const remove = () => {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name)
      // Another process may have put the real one there.
      if (added.includes(path) && readText(path) === text) rmSync(path)
    }
    if (isNew) removeEmpty(folder)
  }
  process.once('exit', remove)
  try {
    makeFolder(folder)
    for (const [name, text] of Object.entries(files)) {
      if (added.includes(join(folder, name))) writeAtomically(join(folder, name), text)
    }
    return await work()
  } finally {
    remove()
    process.off('exit', remove)
  }
}

/** Line ends are left to the version control. */
function readText(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : null
}

/** Nobody reads half a file. */
function writeAtomically(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`
  writeFileSync(temporary, text)
  renameSync(temporary, path)
}

/** By its whole path: in a working directory that has been removed Node would try a relative one for ever. */
function makeFolder(folder: string): void {
  mkdirSync(resolve(folder), { recursive: true })
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Something else has been put there meanwhile, or nothing was.
  }
}
