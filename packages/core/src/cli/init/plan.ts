import { posix } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigurationError } from '../../protocol/errors.ts'
import { planStack } from './better-t-stack/plan-stack.ts'
import { type Change, readIfExists } from './changes.ts'
import type { DetectedApp, Framework } from './detect.ts'
import { planEdits } from './edits.ts'
import { isIgnored } from './git.ts'
import { planNext } from './next/plan-next.ts'
import { planServer } from './plan-server.ts'
import { planStart } from './start/plan-start.ts'
import type { Steps } from './steps.ts'
import { ownDatabase } from './templates.ts'

/** What `init` does in an app, and what is left to do by hand. */
export interface Plan {
  readonly changes: readonly Change[]
  /** The file of the keys. */
  readonly envFile: string
  readonly createsKeys: boolean
  readonly byHand: readonly string[]
  /** The one command to run next. */
  readonly command: string
}

/** Frameworks whose files `init` writes. A function returns null for an app that it doesn't know. */
const FRAMEWORKS: Partial<Record<Framework, (app: DetectedApp) => Steps | null>> = {
  'Next.js': planNext,
  'TanStack Start': planStart,
}

/** @throws ConfigurationError if a file exists that `init` would write, or if Node can't run the files */
export function planInit(app: DetectedApp): Plan {
  const planFramework = app.framework === null ? undefined : FRAMEWORKS[app.framework]
  const steps = planFramework?.(app) ?? planStack(app) ?? planServer(app)
  const { serverFolder = '.' } = steps
  const files = Object.entries(steps.files).map(([path, text]): Change => {
    return { path, before: null, after: ownDatabase(text, app.usesDatabaseUrl) }
  })
  const envFile = posix.join(serverFolder, '.env')
  const taken = files.filter(({ path, after }) => ![null, after].includes(readIfExists(path)))
  if (taken.length > 0) {
    const paths = new Intl.ListFormat('en').format(taken.map(({ path }) => path))
    throw new ConfigurationError(
      `Nothing written, because "sallyport init" never overwrites a file. Move ${paths}, or follow docs/install.md.`,
    )
  }
  const edits = planEdits(steps.edits)
  const others = [
    app.isNew ? asModule(app) : null,
    ignored([
      envFile,
      ...(files.some(({ after }) => after.includes('file:data/'))
        ? [posix.join(serverFolder, 'data/*.db*')]
        : []),
    ]),
  ].filter((change) => change !== null)
  const add = steps.packages.filter((name) => !app.packages.has(name))
  const install = add.length === 0 ? '' : `${app.addPackages} ${add.join(' ')} && `
  return {
    changes: [...files.filter(({ path }) => readIfExists(path) === null), ...edits.changes, ...others],
    envFile,
    createsKeys: !parseEnv(readIfExists(envFile) ?? '').SIGNING_KEYS?.trim(),
    byHand: [...edits.byHand, ...steps.byHand],
    command: `${install}${steps.command}`,
  }
}

function asModule({ manifest: before }: DetectedApp): Change | null {
  if (JSON.parse(before).type === 'module') return null
  const after = COMMONJS.test(before)
    ? before.replace(COMMONJS, '$1"module"')
    : before.replace('{', '{\n  "type": "module",')
  return { path: 'package.json', before, after }
}

const COMMONJS = /("type"\s*:\s*)"commonjs"/

/** Keeps the keys and the database out of the repository. */
function ignored(wanted: readonly string[]): Change | null {
  const before = readIfExists('.gitignore')
  const lines = before?.split(/\r?\n/).map((line) => line.trim()) ?? []
  const missing = wanted.filter((path) => !isIgnored(path, lines))
  if (missing.length === 0) return null
  const end = before === null || before === '' || before.endsWith('\n') ? '' : '\n'
  return { path: '.gitignore', before, after: `${before ?? ''}${end}${missing.join('\n')}\n` }
}
