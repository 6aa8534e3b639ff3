import type { Command } from 'commander'
import { confirm } from './confirm.ts'
import { describeChange, writeChanges } from './init/changes.ts'
import { requireCleanGit } from './init/git.ts'
import { requirePackage } from './load-definition.ts'
import { addExamples, addWriteOptions, type WriteOptions } from './options.ts'

interface CodemodOptions extends WriteOptions {
  readonly trustContext?: true
}

export function addCodemodCommand(program: Command): void {
  const command = program
    .command('codemod')
    .description(
      'replace hand-written guards of tRPC procedures. Shows the changes first, and lists the code to change by hand.',
    )
    .argument('[folder]', 'folder with the sources', '.')
  addWriteOptions(command)
    .option('--trust-context', 'replace guards even if createContext may check more than the session')
    .action(codemod)
  addExamples(command, 'codemod --dry-run', 'codemod src')
}

async function codemod(folder: string, { yes, dryRun, force, trustContext }: CodemodOptions): Promise<void> {
  if (!dryRun) requireCleanGit({ force, folder })
  const { planCodemod } = await import('./codemod/plan.ts').catch(requirePackage('rolldown'))
  const { changes, left } = planCodemod(folder, { trustsContext: trustContext ?? false })
  const list = left.map((line) => `- ${line}\n`).join('')
  console.log(
    [
      ...changes.map(describeChange),
      ...(changes.length === 0 ? ['Nothing to write.'] : []),
      ...(left.length === 0 ? [] : [`By hand:\n${list}`]),
    ].join('\n\n'),
  )
  if (dryRun || changes.length === 0) return
  if (!yes) await confirm()
  writeChanges(changes)
  console.log('Done. Check the types, and run your tests.')
}
