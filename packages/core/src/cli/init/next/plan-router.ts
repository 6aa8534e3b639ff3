import { join } from 'node:path'
import { readIfExists } from '../changes.ts'
import type { DetectedApp } from '../detect.ts'
import type { NextSteps } from '../steps.ts'
import { type Route, readRoute } from './route.ts'
import { nextServer, userProviders } from './server-file.ts'
import { planSignIn } from './sign-in-page.ts'
import { NEXT_FILES } from './templates.ts'
import { ROUTES, trpcEdits } from './trpc-edits.ts'
import { findTrpcFiles, type TrpcFiles } from './trpc-files.ts'
import { providerName } from './user-provider-edit.ts'

const GUIDE = 'docs/nextjs.md#in-an-existing-app'

/** Plans an app whose router isn't from create-t3-app. */
export function planRouter({ folder }: DetectedApp): NextSteps {
  const found = findTrpcFiles(folder)
  const isDone = readIfExists(join(folder, 'server/next.ts')) !== null
  const route = found.route === null || isDone ? null : readRoute(found.route, folder)
  const steps =
    route === null
      ? { files: {}, edits: [], byHand: isDone ? [] : [SERVE] }
      : planRoute(found, { folder, route })
  return {
    files: { 'context.ts': NEXT_FILES['context.ts'], ...steps.files },
    edits: steps.edits,
    byHand: [...steps.byHand, 'Guard the procedures: docs/protect.md#kinds-of-procedures.'],
    packages: ['better-sqlite3'],
  }
}

const SERVE = `Serve the router with createNextAuth, and add AuthProvider to the layout: ${GUIDE}.`

/** Plans an app whose route only serves a router. */
function planRoute(
  found: TrpcFiles,
  { folder, route }: { folder: string; route: Route },
): Omit<NextSteps, 'packages'> {
  const { router, provider, layout } = found
  const name = provider && providerName(provider)
  const paths = {
    context: join(folder, 'context.ts'),
    server: join(folder, 'server/next.ts'),
    providers: join(folder, 'app/user-providers.tsx'),
  }
  const signIn = planSignIn()
  return {
    files: {
      'server/next.ts': nextServer({ path: paths.server, ...route }),
      'app/api/auth/[...path]/route.ts': ROUTES,
      ...(provider &&
        name && { 'app/user-providers.tsx': userProviders(paths.providers, { ...provider, name }) }),
      ...signIn.files,
    },
    edits: trpcEdits(found, route, paths),
    byHand: [
      ...(router && name && layout
        ? []
        : [`Add the error formatter, the links, and AuthProvider: ${GUIDE}.`]),
      ...(ownsDb(route) ? [WRAP_DB] : []),
      'Wrap client components that call a guarded procedure in <SignedIn> of @sallyport/trpc/react.',
      `In server components, call a guarded procedure only if (await getPage()).state.status is "authenticated". getPage is in ${paths.server}.`,
      signIn.byHand,
    ],
  }
}

const WRAP_DB =
  'Your context has its own db. Replace it with withAuthStore(db, auth.store) of @sallyport/core: docs/databases.md#your-apps-client.'

/** The guards need a `db` with the auth store. */
function ownsDb({ context }: Route): boolean {
  return context !== null && /\bdb\s*[,:}]/.test(readIfExists(context.path) ?? '')
}
