import { createHash } from 'node:crypto'
import { type Change, readIfExists } from './changes.ts'

/** Changes to a file that a scaffold wrote. */
export interface Edit {
  readonly path: string
  /** Text that the file has after the edit. Without it, the edit is always planned. */
  readonly done?: string
  /** Each replaces text that the file has exactly once. */
  readonly replacements: readonly Replacement[]
  /** What to do if the file isn't as expected. @default The lines to replace. */
  readonly byHand?: string
  /** If it can't be made, the user must make all edits of the plan by hand. @default false */
  readonly isRequired?: boolean
}

/** Patterns are global. Only their replacements may have groups, such as `$1`. */
export type Replacement = readonly [before: string | RegExp, after: string]

/** Matches no file, so the user must make the edit. */
export const NEVER: Replacement = [/(?!)/g, '']

export const addBefore = (text: string, added: string): Replacement => [text, added + text]

export const addAfter = (text: string, added: string): Replacement => [text, text + added]

/** Returns the changes to files that are as expected. The edits of the others are left to the user. */
export function planEdits(edits: readonly Edit[]): { changes: Change[]; byHand: string[] } {
  const open = edits.filter(({ path, done }) => done === undefined || !readIfExists(path)?.includes(done))
  const planned = open.map((edit) => {
    const before = readIfExists(edit.path)
    return { edit, before, after: before === null ? null : replaceAll(before, edit) }
  })
  const isBlocked = planned.some(({ edit, after }) => edit.isRequired && after === null)
  return {
    changes: planned.flatMap(({ edit: { path }, before, after }) =>
      isBlocked || after === null ? [] : [{ path, before, after }],
    ),
    byHand: planned
      .filter(({ after }) => isBlocked || after === null)
      .map(({ edit, after }) => describeEdit(edit, after === null ? ", which init doesn't recognize" : '')),
  }
}

/** Returns the SHA-256 of a text, to recognize what a scaffold wrote. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Returns null if the file isn't as expected. */
function replaceAll(text: string, { replacements }: Edit): string | null {
  return replacements.reduce<string | null>((current, [before, after]) => {
    if (typeof before === 'string')
      return current?.split(before).length === 2 ? current.replace(before, () => after) : null
    return current?.match(before)?.length === 1 ? current.replace(before, after) : null
  }, text)
}

function describeEdit({ path, replacements, byHand }: Edit, reason: string): string {
  if (byHand !== undefined) return byHand
  const lines = (text: string | RegExp, sign: string) =>
    String(text)
      .split('\n')
      .map((line) => (line === '' ? '' : `    ${sign} ${line}`))
  const hunks = replacements.flatMap(([before, after]) => [...lines(before, '-'), ...lines(after, '+')])
  return [`Edit ${path}${reason}:`, ...hunks.filter((line) => line !== '')].join('\n')
}
