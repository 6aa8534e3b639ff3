import type { Change } from './changes.ts'

/** What `init` does for one kind of app. */
export interface Steps {
  /** Where the server runs and has its `.env`. @default '.' */
  readonly serverFolder?: string
  /** Files to create. They may exist with the same text. */
  readonly files: readonly Change[]
  /** Changes to files of the app. */
  readonly edits: readonly Change[]
  readonly byHand: readonly string[]
  /** The packages that the files import. */
  readonly packages: readonly string[]
  /** The command to run after their installation. */
  readonly command: string
}

export const newFile = (path: string, after: string): Change => ({ path, before: null, after })

/** Returns the command that runs a script of the app, from the one that adds packages. */
export function scriptCommand(addPackages: string, script: string): string {
  return `${addPackages === 'npm i' ? 'npm run' : addPackages.replace('add', 'run')} ${script}`
}
