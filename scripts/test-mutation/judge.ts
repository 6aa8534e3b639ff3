import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { MutantResult } from '@stryker-mutator/api/core'
import { EQUIVALENT } from './equivalent.ts'
import type { Sample } from './plugins.ts'

/** `listed` is in the list of equivalent mutants; `ignored` can't change behavior. */
export type Verdict = 'killed' | 'timed out' | 'survived' | 'not covered' | 'listed' | 'ignored'

/** A mutant as the report prints it: the line before and after, with collapsed white space. */
export interface Judged {
  /** Relative to `packages`. */
  readonly file: string
  readonly lineNumber: number
  readonly line: string
  readonly mutant: string
  readonly verdict: Verdict
  /** Whether a test failed, listed or not. */
  readonly isKilled: boolean
}

const VERDICTS: Readonly<Record<MutantResult['status'], Verdict>> = {
  Killed: 'killed',
  // The mutant broke the loading of a test file.
  RuntimeError: 'killed',
  Timeout: 'timed out',
  Survived: 'survived',
  NoCoverage: 'not covered',
  Ignored: 'ignored',
  CompileError: 'ignored',
  Pending: 'ignored',
}

/** Compares the results of Stryker with the list of equivalent mutants. */
export function judge(results: readonly MutantResult[]): Judged[] {
  return results.map((result) => {
    const described = describe(result)
    const verdict = VERDICTS[result.status]
    const isKilled = verdict === 'killed' || verdict === 'timed out'
    const isListed = verdict !== 'ignored' && EQUIVALENT.some((entry) => isSame(entry, described))
    return { ...described, verdict: isListed && !isKilled ? 'listed' : verdict, isKilled }
  })
}

/** Returns the entries about these files whose mutants a test kills, or which match no mutant. */
export function listMistakes(judged: readonly Judged[], sample: Sample | undefined): string[] {
  const files = new Set(judged.map(({ file }) => file))
  return EQUIVALENT.filter(({ file }) => files.has(file)).flatMap((entry) => {
    const matching = judged.filter((mutant) => isSame(entry, mutant))
    if (matching.some(({ isKilled }) => !isKilled)) return []
    // A sample lacks most mutants.
    if (matching.length === 0 && sample !== undefined && hasLine(entry)) return []
    const mistake = matching.length === 0 ? 'no longer exists' : 'is killed by a test'
    return [`${entry.file}: this mutant ${mistake}. Remove it from equivalent.ts.\n  + ${entry.mutant}`]
  })
}

function hasLine({ file, line }: Pick<Judged, 'file' | 'line'>): boolean {
  return readFileSync(`packages/${file}`, 'utf8').split('\n').map(collapsed).includes(line)
}

function isSame(one: Pick<Judged, 'file' | 'line' | 'mutant'>, other: typeof one): boolean {
  return one.file === other.file && one.line === other.line && one.mutant === other.mutant
}

function describe({ fileName, location: { start, end }, replacement }: MutantResult) {
  const lines = readFileSync(fileName, 'utf8').split('\n')
  const [first = '', last = ''] = [lines[start.line - 1], lines[end.line - 1]]
  const mutant = first.slice(0, start.column - 1) + replacement + last.slice(end.column - 1)
  return {
    file: relative('packages', fileName),
    lineNumber: start.line,
    line: collapsed(first),
    mutant: collapsed(mutant),
  }
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
