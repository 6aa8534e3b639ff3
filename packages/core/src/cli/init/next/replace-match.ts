import type { Replacement } from '../edits.ts'

/** Text to find, and what to show to the user if it isn't found. */
type Expected = readonly [pattern: RegExp, shown: string]

/** Returns what to replace a match with. */
export function replaceMatch(
  text: string,
  [pattern, shown]: Expected,
  after: (match: readonly string[]) => string,
): Replacement {
  const match = pattern.exec(text)
  // No file has such a line, so the user must make the edit.
  return match === null ? [`… ${shown} …`, after([shown])] : [match[0], after(match)]
}

/** Adds imports before the others. */
export function addImports(text: string, imports: readonly string[]): Replacement {
  const first: Expected = [/^import\b[^;]*?["'];?$/m, "import … from '…'"]
  return replaceMatch(text, first, ([before]) => `${imports.join('\n')}\n${before}`)
}
