import type { Judged, Verdict } from './judge.ts'

/** The share of the mutants that tests must kill. Mutants in the list of equivalent ones don't count. */
const MIN_KILLED = 0.95

const COLUMNS: Verdict[] = ['killed', 'timed out', 'survived', 'not covered', 'listed', 'ignored']

/** Prints the figures of each file and of all, and the mutants that no test kills. */
export function printMutants(judged: readonly Judged[]): void {
  for (const file of new Set(judged.map((mutant) => mutant.file)))
    printFigures(
      file,
      judged.filter((mutant) => mutant.file === file),
    )
  for (const { file, lineNumber, verdict, line, mutant } of judged) {
    if (verdict === 'survived' || verdict === 'not covered')
      console.log(`\n${verdict}: packages/${file}:${lineNumber}\n  - ${line}\n  + ${mutant}`)
  }
}

/** Prints one line of figures. Returns whether tests kill enough mutants. */
export function printFigures(name: string, judged: readonly Judged[]): boolean {
  const counts = COLUMNS.map((verdict) => judged.filter((mutant) => mutant.verdict === verdict).length)
  const [killed = 0, timedOut = 0, survived = 0, notCovered = 0] = counts
  const decided = killed + timedOut + survived + notCovered
  const rate = decided === 0 ? 1 : (killed + timedOut) / decided
  const figures = COLUMNS.map((verdict, index) => `${counts[index]} ${verdict}`)
  console.log(`${name}: ${judged.length} mutants, ${figures.join(', ')}: ${(rate * 100).toFixed(1)} %`)
  return rate >= MIN_KILLED
}
