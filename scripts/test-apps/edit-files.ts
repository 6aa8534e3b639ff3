import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The content of new files, and the replacements in others. */
export type Edits = Readonly<Record<string, string | readonly (readonly [old: string, current: string])[]>>

/** Creates and changes files of an app. Throws if the text to replace is missing. */
export function editFiles(folder: string, edits: Edits): void {
  for (const [name, change] of Object.entries(edits)) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    if (typeof change === 'string') writeFileSync(file, change)
    else writeFileSync(file, replaceAll(readFileSync(file, 'utf8'), change))
  }
}

function replaceAll(text: string, pairs: readonly (readonly [old: string, current: string])[]): string {
  return pairs.reduce((result, [old, current]) => {
    if (!result.includes(old)) throw new Error(`Not found: ${old}\n${result}`)
    return result.replace(old, () => current)
  }, text)
}
