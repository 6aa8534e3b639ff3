// Mutation testing of the gate: `pnpm test:mutation [group...] [--sample N [--seed N]] [--concurrency N]`.
import { randomInt } from 'node:crypto'
import { globSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { GROUPS } from './groups.ts'
import { type Judged, judge, listMistakes } from './judge.ts'
import { isDrawn, type Sample } from './plugins.ts'
import { printFigures, printMutants } from './report.ts'
import { runGroup } from './run-group.ts'

/** Characters of source per mutant, on average. */
const CHARACTERS_PER_MUTANT = 54

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    concurrency: { type: 'string', default: String(Math.max(1, availableParallelism() - 1)) },
  },
})
const unknown = positionals.find((name) => !(name in GROUPS))
if (unknown !== undefined)
  throw new Error(`${unknown} is not a group. Choose from ${Object.keys(GROUPS).join(', ')}.`)
const groups = Object.entries(GROUPS).filter(
  ([name]) => positionals.length === 0 || positionals.includes(name),
)
const sample = values.sample === undefined ? undefined : draw(Number(values.sample), Number(values.seed))

const all: Judged[] = []
for (const [name, group] of groups) {
  const results = await runGroup(name, group, { sample, concurrency: Number(values.concurrency) })
  const judged = judge(sample === undefined ? results : results.filter((mutant) => isDrawn(mutant, sample)))
  console.log(`\n${name}`)
  printMutants(judged)
  all.push(...judged)
}
const mistakes = listMistakes(all, sample)
for (const mistake of mistakes) console.log(`\n${mistake}`)
console.log()
if (!printFigures('Total', all) || mistakes.length > 0) process.exitCode = 1

function draw(size: number, seed: number): Sample {
  const files = groups.flatMap(([, { mutate }]) => globSync([...mutate]))
  const characters = files.reduce((sum, file) => sum + statSync(file).size, 0)
  console.log(`A sample of about ${size} mutants. To repeat it, add --seed ${seed}.`)
  return { seed, probability: (size * CHARACTERS_PER_MUTANT) / characters }
}
