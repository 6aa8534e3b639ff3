import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigurationError } from '../../protocol/errors.ts'

/** A file to create (`before` is null), or lines of one to change. */
export interface Change {
  readonly path: string
  readonly before: string | null
  readonly after: string
}

/** Returns the text with LF, or null if the file doesn't exist. On Windows, Git checks out CRLF. */
export function readIfExists(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : null
}

/** Shows a file to create, or the lines that an edit removes and adds. */
export function describeChange({ path, before, after }: Change): string {
  const [old, next] = [linesOf(before ?? ''), linesOf(after)]
  const lines = [`${before === null ? 'create' : 'change'} ${path}`]
  let [i, j] = [0, 0]
  while (i < old.length || j < next.length) {
    const [removed, added] = untilSame(old.slice(i), next.slice(j))
    lines.push(...old.slice(i, i + removed).map((line) => `  - ${line}`))
    lines.push(...next.slice(j, j + added).map((line) => `  + ${line}`))
    // The line after is in both.
    i += removed + 1
    j += added + 1
  }
  return lines.join('\n')
}

/** Returns how many lines to remove and add until both texts have the same line again. */
function untilSame(old: readonly string[], next: readonly string[]): [removed: number, added: number] {
  const last = old.length + next.length
  for (let both = 0; both < last; both++)
    for (let removed = Math.max(0, both - next.length + 1); removed <= both; removed++) {
      const added = both - removed
      if (old[removed] !== next[added]) continue
      // Empty lines and braces are everywhere.
      const isSame = /\w{3}/.test(old[removed] ?? '') || old[removed + 1] === next[added + 1]
      if (both === 0 || isSame) return [removed, added]
    }
  return [old.length, next.length]
}

/**
 * Writes the changes with the line ends of each file. All are checked before the first is written.
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
    const isCrlf = before !== null && readFileSync(path, 'utf8').includes('\r\n')
    const text = isCrlf ? after.replaceAll('\n', '\r\n') : after
    // A link to a missing file doesn't exist either, and must not be followed.
    writeFileSync(path, text, { flag: before === null ? 'wx' : 'w' })
  }
}

const linesOf = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
