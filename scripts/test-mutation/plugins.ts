// Stryker and its child processes load this file.
import { createHash } from 'node:crypto'
import { type Checker, type CheckResult, CheckStatus } from '@stryker-mutator/api/check'
import type { Mutant } from '@stryker-mutator/api/core'
import { declareClassPlugin, declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'
import type { babel } from '@stryker-mutator/core'

/** Each mutant is drawn with this probability. The same seed draws the same mutants of the same code. */
export interface Sample {
  readonly seed: number
  readonly probability: number
}

export function isDrawn({ id }: Pick<Mutant, 'id'>, { seed, probability }: Sample): boolean {
  const hash = createHash('sha256').update(`${seed} ${process.env.MUTATION_GROUP} ${id}`).digest()
  return hash.readUInt32BE() < probability * 2 ** 32
}

/** Errors with only a text for developers. Tests assert reasons, not texts. */
const DEVELOPER_ERRORS = ['ConfigurationError', 'Error', 'SyntaxError', 'TypeError']

/** Ignores the texts of errors that only developers see. */
function shouldIgnore(path: babel.NodePath): string | undefined {
  const { parent } = path
  const isText = path.isStringLiteral() || path.isTemplateLiteral()
  if (!isText || parent.type !== 'NewExpression' || parent.callee.type !== 'Identifier') return undefined
  return DEVELOPER_ERRORS.includes(parent.callee.name) ? 'The text of an error for developers' : undefined
}

/** Rejects the mutants that aren't drawn, so Stryker doesn't run them. */
class SampleChecker implements Checker {
  readonly #sample: Sample = JSON.parse(process.env.MUTATION_SAMPLE ?? '')

  async init(): Promise<void> {}

  async check(mutants: Mutant[]): Promise<Record<string, CheckResult>> {
    const skipped = { status: CheckStatus.CompileError, reason: 'Not drawn' } as const
    return Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        isDrawn(mutant, this.#sample) ? { status: CheckStatus.Passed } : skipped,
      ]),
    )
  }
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'developer-texts', { shouldIgnore }),
  declareClassPlugin(PluginKind.Checker, 'sample', SampleChecker),
]
