import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Replaces text that a file of an app has once. */
export function edit(
  cwd: string,
  path: string,
  replacements: readonly (readonly [before: string, after: string])[],
): void {
  let text = readFileSync(join(cwd, path), 'utf8')
  for (const [before, after] of replacements) {
    if (text.split(before).length !== 2) throw new Error(`${path} must have this once:\n${before}`)
    text = text.replace(before, () => after)
  }
  writeFileSync(join(cwd, path), text)
}
