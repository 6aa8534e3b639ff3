import type { Steps } from '../steps.ts'

/** The steps that differ between kinds of Next.js apps. */
export interface NextSteps {
  /** Files next to the folder `app`, by path. */
  readonly files: Readonly<Record<string, string>>
  readonly edits: Steps['edits']
  readonly byHand: readonly string[]
  readonly packages: readonly string[]
}
