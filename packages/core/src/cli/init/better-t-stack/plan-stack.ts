import { readIfExists } from '../changes.ts'
import type { DetectedApp } from '../detect.ts'
import { addAfter, type Edit, NEVER } from '../edits.ts'
import { addToClient } from '../mount/mount-client.ts'
import { addImports, inStyle } from '../sources.ts'
import { type Steps, scriptCommand } from '../steps.ts'
import { STACK_EDITS } from './stack-edits.ts'
import { stackFiles } from './stack-files.ts'

const CLIENT = 'apps/web/src/utils/trpc.ts'

/** Plans a workspace of create-better-t-stack, from its root; null for another app. */
export function planStack({ addPackages }: DetectedApp): Steps | null {
  const [, databasePackage] =
    /import \{ createDb \} from "(.+)"/.exec(readIfExists('apps/server/src/services.ts') ?? '') ?? []
  const usesLibsql = readIfExists('packages/db/src/index.ts')?.includes('@libsql/client')
  if (databasePackage === undefined || !usesLibsql || readIfExists('bts.jsonc') === null) return null
  return {
    serverFolder: 'apps/server',
    files: stackFiles(databasePackage),
    edits: [...STACK_EDITS, clientEdit(readIfExists(CLIENT) ?? '')],
    byHand: [
      'In packages/api/src/routers, replace publicProcedure with protectedProcedure.',
      'Add a sign-in page, and wrap components that call such a procedure in <SignedIn>: docs/react.md#set-up.',
      'Users are in apps/server/auth.db, because drizzle-kit push would drop their tables: docs/databases.md#your-migration-tool.',
    ],
    packages: ['kysely'],
    command: `${scriptCommand(addPackages, 'env:generate')} && ${scriptCommand(addPackages, 'dev')}`,
  }
}

/** Pages may have added links. */
function clientEdit(text: string): Edit {
  const client = addToClient(text)
  const edit = {
    path: CLIENT,
    done: '@sallyport/trpc',
    byHand: `Connect the client in ${CLIENT}: docs/react.md#set-up.`,
  }
  if (client === null) return { ...edit, replacements: [NEVER] }
  const retry = addAfter('new QueryClient({\n', '  defaultOptions: { queries: { ...authAwareRetry } },\n')
  const imports = addImports(
    client.imports.replace('{ ', '{ authAwareRetry, '),
    "import { authClient } from './auth-client';\n",
  )
  return { ...edit, replacements: inStyle([imports, retry, ...client.replacements], { text, extension: '' }) }
}
