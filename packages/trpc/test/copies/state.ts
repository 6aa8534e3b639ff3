import type { Random } from '../../../core/test/hostile/random.ts'
import type { CopiesApp } from './open-app.ts'
import type { OwnBrowser, OwnProgram } from './owner.ts'
import type { Travel } from './shift-clocks.ts'
import type { Copy, KnownSession } from './thief.ts'

/** How often each check ran, by name and outcome. */
export type Counts = Record<string, number>

/** What a history runs on. */
export interface Stage {
  readonly app: CopiesApp
  readonly travel: Travel
  readonly random: Random
  readonly counts: Counts
}

/** The state of one history. */
export interface History extends Stage {
  readonly steps: string[]
  readonly browserSession: KnownSession
  readonly programSession: KnownSession
  readonly browser: OwnBrowser
  readonly program: OwnProgram
  readonly copies: Copy[]
  readonly address: string
  password: string
  /** The first tick that old streams must not emit after a proof was acknowledged. */
  readonly deadlines: Map<Copy, number>
  /** The causes for which a session may end. */
  readonly mayEnd: Set<string>
  /** Whether a refresh rotated a secret. An earlier secret may then be replayed. */
  hasRotated: boolean
}

export type Step = (history: History) => Promise<unknown>
