import { readIfExists } from '../changes.ts'
import { type Edit, sha256 } from '../edits.ts'
import type { NextSteps } from '../steps.ts'
import { nextServer } from './server-file.ts'
import { planSignIn } from './sign-in-page.ts'
import { t3Edits } from './t3-edits.ts'
import { T3_ON_ERROR, type T3Database, t3Context } from './t3-files.ts'
import { NEXT_FILES } from './templates.ts'

const ROUTE = 'src/app/api/trpc/[trpc]/route.ts'
const ROUTER = 'src/server/api/trpc.ts'

/** Returns whether the app has the files of create-t3-app with tRPC and the App Router. */
export const isT3 = (): boolean => [ROUTE, ROUTER].every((path) => readIfExists(path) !== null)

/** Plans an app of create-t3-app. The app keeps its router, database handle, and providers. */
export function planT3(): NextSteps {
  const [, alias = '~/'] = /from "(\S+?)server\//.exec(readIfExists('src/server/api/root.ts') ?? '') ?? []
  const client = readIfExists('src/server/db/index.ts') ?? readIfExists('src/server/db.ts')
  const database = client === null ? null : findDatabase(client)
  const signIn = planSignIn()
  const route = `export { GET, OPTIONS, POST } from "${alias}server/next";\n`
  return {
    files: {
      'context.ts': database === null ? NEXT_FILES['context.ts'] : t3Context(database.kind),
      'server/next.ts': nextServer({
        path: 'src/server/next.ts',
        router: { name: 'appRouter', path: 'src/server/api/root.ts' },
        context: { name: 'createTRPCContext', path: ROUTER },
        rest: T3_ON_ERROR,
      }),
      'app/api/auth/[...path]/route.ts': route,
      ...signIn.files,
    },
    edits: [...t3Edits({ alias, hasDatabase: database !== null }), routeEdit(route, alias)],
    byHand: [
      ...(database?.reason === undefined
        ? []
        : [`Users are in data/auth.db, a SQLite file, because ${database.reason}`]),
      `In your routers, replace publicProcedure with protectedProcedure of ${ROUTER}.`,
      'Wrap client components that call such a procedure in <SignedIn> of @sallyport/trpc/react.',
      'In server components, call or prefetch such a procedure only if (await getPage()).state.status is "authenticated". getPage is in src/server/next.ts.',
      signIn.byHand,
    ],
    packages: database === null || database.kind === 'own' ? ['better-sqlite3'] : [],
  }
}

/** Returns the database for the users, and the reason if it isn't the app's. */
function findDatabase(client: string): { kind: T3Database; reason?: string } {
  const own = (reason: string) => ({ kind: 'own', reason }) as const
  if (client.includes('PrismaClient'))
    return own('Prisma does not share its connections. To use another database, see docs/databases.md.')
  const isLibsql = client.includes('@libsql/client')
  if (!isLibsql && !client.includes('"postgres"'))
    return own('init can share only libsql and postgres.js. To use another database, see docs/databases.md.')
  if (!readIfExists('drizzle.config.ts')?.includes('tablesFilter'))
    return own(
      'drizzle.config.ts has no tablesFilter, so drizzle-kit push would drop the tables of Sallyport. See docs/databases.md#your-migration-tool.',
    )
  return { kind: isLibsql ? 'libsql' : 'postgres' }
}

/** Of the route of create-t3-app 7.40, without white space and trailing commas. */
const ROUTE_HASH = 'e778b82aea9e03d4a16c6f152dc648bac465726f3156d88fa9c0d36ec62ab569'

/** Replaces the whole route, if the app hasn't changed it. */
function routeEdit(after: string, alias: string): Edit {
  const before = readIfExists(ROUTE) ?? ''
  const text = before.replaceAll(`"${alias}`, '"~/').replaceAll(/\s|,(?=\s*[)}\]])/g, '')
  const isKnown = sha256(text) === ROUTE_HASH
  return { path: ROUTE, done: after, replacements: [[isKnown ? before : 'All lines', after]] }
}
