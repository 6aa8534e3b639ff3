import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { MutantResult, schema } from '@stryker-mutator/api/core'
import { Stryker } from '@stryker-mutator/core'
import type { Group } from './groups.ts'
import type { Sample } from './plugins.ts'

/** How to run a group. With a `sample`, Stryker runs only the drawn mutants, and keeps no results. */
export interface RunOptions {
  readonly concurrency: number
  readonly sample: Sample | undefined
}

/** Runs the tests of a group against its mutants. Without a sample, reuses the results of unchanged code. */
export async function runGroup(
  name: string,
  { mutate, pool = 'threads' }: Group,
  { concurrency, sample }: RunOptions,
): Promise<MutantResult[]> {
  // Read by the configuration of Vitest and by the plugin, in the child processes of Stryker.
  process.env.MUTATION_GROUP = name
  process.env.MUTATION_SAMPLE = JSON.stringify(sample)
  const incrementalFile = `node_modules/.cache/mutation/${name}.json`
  if (sample === undefined) forgetStaticSurvivors(incrementalFile)
  const run = (ignoreStatic: boolean) =>
    new Stryker({
      mutate: [...mutate],
      ignorePatterns: ['/.*', '/bench', '/docs', '/packages/example', 'dist', 'api', 'data'],
      testRunner: 'vitest',
      vitest: { configFile: 'scripts/test-mutation/vitest.config.ts', related: false, pool },
      plugins: ['@stryker-mutator/vitest-runner', './scripts/test-mutation/plugins.ts'],
      ignorers: ['developer-texts'],
      checkers: sample === undefined ? [] : ['sample'],
      coverageAnalysis: 'perTest',
      ignoreStatic,
      // Vitest strips types without checking them.
      disableTypeChecks: false,
      incremental: sample === undefined,
      incrementalFile,
      tempDirName: `.mutation/${name}`,
      reporters: ['progress-append-only'],
      concurrency,
      // Long enough for a busy machine: only an endless loop takes longer.
      timeoutMS: 30_000,
      timeoutFactor: 4,
      warnings: false,
      allowConsoleColors: false,
    }).runMutationTest()
  // A mutant that also runs while a module loads would run with every test. The first run leaves that out.
  // The second run reuses its results, so it adds only the mutants that run at no other time.
  if (sample === undefined) await run(true)
  return run(false)
}

/** Stryker doesn't know which tests reach a mutant that runs at load time, so it would never try new ones. */
function forgetStaticSurvivors(incrementalFile: string): void {
  if (!existsSync(incrementalFile)) return
  const report: Pick<schema.MutationTestResult, 'files'> = JSON.parse(readFileSync(incrementalFile, 'utf8'))
  for (const file of Object.values(report.files))
    file.mutants = file.mutants.filter((mutant) => !(mutant.static && mutant.status === 'Survived'))
  writeFileSync(incrementalFile, JSON.stringify(report))
}
