import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The lines that protect an app: added or changed in files that it had, and those of new files. */
export interface Changes {
  readonly changed: number
  readonly added: number
}

interface Compared {
  readonly before: string
  readonly after: string
  readonly files: readonly string[]
}

/** Copies an app, to compare it later. */
export function keep(folder: string, { as }: { as: string }): void {
  rmSync(as, { recursive: true, force: true })
  cpSync(folder, as, { recursive: true, filter: (path) => !path.includes('node_modules') })
}

/** Prints how many lines protect an app. */
export function printChanges(name: string, { before, after, files }: Compared): void {
  const { changed, added } = countChanges(before, after, files)
  console.log(`${name}: ${changed} lines of the unguarded app change, and ${added} are in new files`)
}

/** Compares files of a guarded app with those of the unguarded one. Blank lines don't count. */
export function countChanges(before: string, after: string, files: readonly string[]): Changes {
  const lines = { changed: 0, added: 0 }
  for (const file of files) {
    const [old, current] = [join(before, file), join(after, file)]
    if (existsSync(old)) lines.changed += changedLines(old, current)
    else if (existsSync(current)) lines.added += withText(readFileSync(current, 'utf8').split('\n')).length
  }
  return lines
}

/** Returns how many lines of a file differ from those of another, or are new. */
function changedLines(old: string, current: string): number {
  const { stdout } = spawnSync('git', ['diff', '--no-index', '-U0', '-w', old, current], { encoding: 'utf8' })
  const added = stdout.split('\n').filter((line) => line.startsWith('+') && !line.startsWith('+++'))
  return withText(added.map((line) => line.slice(1))).length
}

const withText = (lines: readonly string[]) => lines.filter((line) => line.trim() !== '')
