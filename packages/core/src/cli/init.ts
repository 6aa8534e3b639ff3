import type { Command } from 'commander'
import { envFileStore } from '../key-file/key-store.ts'
import { createKeyRing } from '../keys/key-ring.ts'
import { createSigningKey } from '../keys/signing-keys.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { confirm } from './confirm.ts'
import { describeChange, writeChanges } from './init/changes.ts'
import { type DetectedApp, detectApp } from './init/detect.ts'
import { requireCleanGit, requireUntracked } from './init/git.ts'
import { type Plan, planInit } from './init/plan.ts'
import { addExamples, addWriteOptions, type WriteOptions } from './options.ts'

export function addInitCommand(program: Command): void {
  const command = program
    .command('init')
    .description(
      'add auth to the app in this folder: write files, and keys to .env. Shows the changes first.',
    )
  addWriteOptions(command).action(init)
  addExamples(command, 'init --dry-run', 'init --yes')
}

async function init({ yes, dryRun, force }: WriteOptions): Promise<void> {
  const app = detectApp()
  requirePackages(app)
  const plan = planInit(app)
  if (!dryRun) {
    requireUntracked(plan.envFile)
    requireCleanGit({ force })
  }
  console.log(`${describeApp(app)}\n\n${describePlan(plan)}`)
  if (dryRun) return
  const isNothing = plan.changes.length === 0 && !plan.createsKeys
  if (!isNothing && !yes) await confirm()
  writeChanges(plan.changes)
  // It replaces nothing, and makes the file readable only by its owner.
  if (plan.createsKeys) envFileStore(plan.envFile).create(createKeyRing(await createSigningKey(), new Date()))
  const steps = plan.byHand.map((step) => `- ${step}\n`).join('')
  console.log(
    `\n${isNothing ? 'Nothing to write.' : 'Done.'}${steps && ` By hand:\n${steps}`}\nNext:\n  ${plan.command}`,
  )
}

/** The packages aren't in the registry yet, so the last command can't install them. */
function requirePackages({ packages }: DetectedApp): void {
  if (packages.has('@sallyport/core') && packages.has('@sallyport/trpc')) return
  throw new ConfigurationError(
    'package.json lacks @sallyport/core or @sallyport/trpc. Install both tarballs first: docs/install.md#from-tarballs.',
  )
}

function describeApp({ isNew, framework, databaseTool, folder }: DetectedApp): string {
  if (isNew) return 'A new app: Hono, Kysely, SQLite.'
  const tools = [framework ?? 'Node', ...(databaseTool === null ? [] : [databaseTool])]
  return `Found ${tools.join(' and ')}, with sources in ${folder === '.' ? 'this folder' : folder}.`
}

function describePlan({ changes, createsKeys, envFile }: Plan): string {
  const keys = `write keys to ${envFile}, readable only by you\n  + JWKS=…\n  + SIGNING_KEYS=…`
  return [...changes.map(describeChange), ...(createsKeys ? [keys] : [])].join('\n\n')
}
