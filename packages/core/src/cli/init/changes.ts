import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigurationError } from '../../protocol/errors.ts'

/** A file to create (`before` is null), or lines of one to change. */
export interface Change {
  readonly path: string
  readonly before: string | null
  readonly after: string
}

export function readIfExists(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null
}

/** Shows a file to create, or the lines that an edit removes and adds. */
export function describeChange({ path, before, after }: Change): string {
  const [old, next] = [linesOf(before ?? ''), linesOf(after)]
  const isKept = (line: string, i: number) => line === next[i]
  const start = old.findIndex((line, i) => !isKept(line, i))
  const same = start === -1 ? old.length : start
  let ending = 0
  while (ending < Math.min(old.length, next.length) - same && old.at(-1 - ending) === next.at(-1 - ending))
    ending++
  const removed = old.slice(same, old.length - ending).map((line) => `  - ${line}`)
  const added = next.slice(same, next.length - ending).map((line) => `  + ${line}`)
  return [`${before === null ? 'create' : 'change'} ${path}`, ...removed, ...added].join('\n')
}

/**
 * Writes the changes. All are checked before the first is written.
 * @throws ConfigurationError if a file isn't as it was when the change was shown
 */
export function writeChanges(changes: readonly Change[]): void {
  const changed = changes.filter(({ path, before }) => readIfExists(path) !== before)
  if (changed.length > 0) {
    const paths = changed.map(({ path }) => path).join(', ')
    throw new ConfigurationError(`Nothing written: ${paths} changed meanwhile. Run the command again.`)
  }
  for (const { path, before, after } of changes) {
    mkdirSync(dirname(path), { recursive: true })
    // A link to a missing file doesn't exist either, and must not be followed.
    writeFileSync(path, after, { flag: before === null ? 'wx' : 'w' })
  }
}

const linesOf = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
