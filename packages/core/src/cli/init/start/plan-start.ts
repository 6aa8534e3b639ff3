import { type Change, readIfExists } from '../changes.ts'
import type { DetectedApp } from '../detect.ts'
import { type Edit, planEdits, sha256 } from '../edits.ts'
import { newFile, type Steps, scriptCommand } from '../steps.ts'
import { FILES, ownDatabase } from '../templates.ts'
import { REPLACED_FILES } from './replaced-files.ts'
import { START_FILES } from './templates.ts'

const ROOT_EDIT: Edit = {
  path: 'src/routes/__root.tsx',
  done: 'client: AuthClient',
  replacements: [
    [
      "import type { QueryClient } from '@tanstack/react-query'\n",
      "import type { AuthClient } from '@sallyport/trpc/client'\nimport type { QueryClient } from '@tanstack/react-query'\n",
    ],
    ['interface MyRouterContext {\n', 'interface MyRouterContext {\n  client: AuthClient\n'],
  ],
}

/** Plans an app with the add-on tRPC of `@tanstack/cli`; null for one without it. */
export function planStart({ usesDatabaseUrl, addPackages }: DetectedApp): Steps | null {
  if (readIfExists('src/integrations/trpc/router.ts') === null) return null
  const files = {
    ...START_FILES,
    'src/auth.ts': FILES['auth.ts'],
    'src/context.ts': ownDatabase(START_FILES['src/context.ts'], usesDatabaseUrl),
  }
  const replaced = planReplaced()
  const root = planEdits([ROOT_EDIT])
  return {
    files: Object.entries(files).map(([path, text]) => newFile(path, text)),
    edits: [...replaced.changes, ...root.changes],
    byHand: [
      ...replaced.byHand,
      ...root.byHand,
      'Guard the procedures with protectedProcedure: docs/protect.md#kinds-of-procedures.',
    ],
    packages: ['kysely', 'better-sqlite3'],
    command: scriptCommand(addPackages, 'dev'),
  }
}

/** Replaces the files that are as the scaffold wrote them. The others are left to the user. */
function planReplaced(): { changes: Change[]; byHand: string[] } {
  const open = REPLACED_FILES.filter(({ path, after }) => readIfExists(path) !== after)
  const planned = open.map(({ path, before: expected, after }) => {
    const before = readIfExists(path)
    return { path, before, after, isExpected: sha256(before ?? '') === expected }
  })
  return {
    changes: planned.flatMap(({ isExpected, ...change }) => (isExpected ? [change] : [])),
    byHand: planned.flatMap(({ isExpected, path }) =>
      isExpected ? [] : [`Add the code of docs/tanstack-start.md to ${path}.`],
    ),
  }
}
