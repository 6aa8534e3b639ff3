import type { Steps } from '../steps.ts'

/** The part of the steps in which kinds of Next.js apps differ. */
export interface NextSteps {
  /** Files beside the folder `app`, by their path. */
  readonly files: Readonly<Record<string, string>>
  readonly edits: Steps['edits']
  readonly byHand: readonly string[]
  readonly packages: readonly string[]
}
