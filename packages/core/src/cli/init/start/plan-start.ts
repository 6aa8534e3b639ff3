import { readIfExists } from '../changes.ts'
import type { DetectedApp } from '../detect.ts'
import { addAfter, addBefore, type Edit, NEVER, sha256 } from '../edits.ts'
import { type Steps, scriptCommand } from '../steps.ts'
import { FILES } from '../templates.ts'
import { REPLACED_FILES, type ReplacedFile } from './replaced-files.ts'
import { START_FILES } from './templates.ts'

const ROOT_EDIT: Edit = {
  path: 'src/routes/__root.tsx',
  done: 'client: AuthClient',
  replacements: [
    addBefore(
      "import type { QueryClient } from '@tanstack/react-query'\n",
      "import type { AuthClient } from '@sallyport/trpc/client'\n",
    ),
    addAfter('interface MyRouterContext {\n', '  client: AuthClient\n'),
  ],
}

/** Plans an app with the add-on tRPC of `@tanstack/cli`; null for one without it. */
export function planStart({ addPackages }: DetectedApp): Steps | null {
  if (readIfExists('src/integrations/trpc/router.ts') === null) return null
  return {
    files: { ...START_FILES, 'src/auth.ts': FILES['auth.ts'] },
    edits: [...REPLACED_FILES.map(replaceFile), ROOT_EDIT],
    byHand: ['Guard the procedures with protectedProcedure: docs/protect.md#kinds-of-procedures.'],
    packages: ['kysely', 'better-sqlite3'],
    command: scriptCommand(addPackages, 'dev'),
  }
}

/** Replaces a file that is as the scaffold wrote it. */
function replaceFile({ path, before: expected, after }: ReplacedFile): Edit {
  const before = readIfExists(path) ?? ''
  return {
    path,
    done: after,
    replacements: sha256(before) === expected ? [[before, after]] : [NEVER],
    byHand: `Add the code of docs/tanstack-start.md to ${path}.`,
  }
}
