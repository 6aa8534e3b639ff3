import { join } from 'node:path'
import type { Edit } from './edits.ts'

/** What `init` does for one kind of app. */
export interface Steps {
  /** Where the server runs and has its `.env`. @default '.' */
  readonly serverFolder?: string
  /** The text of files to create, by path. They may exist with the same text. */
  readonly files: Readonly<Record<string, string>>
  /** Changes to files of the app. The user makes those of files that aren't as expected. */
  readonly edits: readonly Edit[]
  /** What else the user must do. */
  readonly byHand: readonly string[]
  /** The packages that the files import. */
  readonly packages: readonly string[]
  /** The command to run after their installation. */
  readonly command: string
}

/** The steps for one kind of Next.js app. Its files are beside the folder `app`. */
export type NextSteps = Omit<Steps, 'serverFolder' | 'command'>

export function inFolder(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [join(folder, name), text]))
}

/** Returns the command that runs a script of the app, from the one that adds packages. */
export function scriptCommand(addPackages: string, script: string): string {
  return `${addPackages === 'npm i' ? 'npm run' : addPackages.replace('add', 'run')} ${script}`
}
