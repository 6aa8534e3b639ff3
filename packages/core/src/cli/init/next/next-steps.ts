import type { Edit } from '../edits.ts'

/** The steps that differ between kinds of Next.js apps. */
export interface NextSteps {
  /** Files next to the folder `app`, by path. */
  readonly files: Readonly<Record<string, string>>
  readonly edits: readonly Edit[]
  readonly byHand: readonly string[]
  readonly packages: readonly string[]
}
