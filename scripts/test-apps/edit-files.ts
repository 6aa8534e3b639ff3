import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { edit } from './edit.ts'

/** The content of new files, and the replacements in others. */
export type Edits = Readonly<Record<string, string | readonly (readonly [before: string, after: string])[]>>

/** Creates and changes files of an app. */
export function editFiles(folder: string, edits: Edits): void {
  for (const [name, change] of Object.entries(edits)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    if (typeof change === 'string') writeFileSync(join(folder, name), change)
    else edit(folder, name, change)
  }
}
