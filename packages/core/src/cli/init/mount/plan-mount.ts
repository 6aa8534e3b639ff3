import type { DetectedApp } from '../detect.ts'
import { findSource, importExtension, readSources, withExtension } from '../sources.ts'
import { inFolder, type Steps } from '../steps.ts'
import { planClient } from './plan-client.ts'
import { planServerEdits } from './plan-server-edits.ts'
import { AUTH_SERVER, LAZY_FILES } from './templates.ts'

/** Plans an app whose server follows tRPC's documentation; null if a part of the server doesn't. */
export function planMount(app: DetectedApp): Steps | null {
  const { folder, packages } = app
  const sources = readSources()
  const extension = importExtension(sources)
  const place = { folder: folder === '.' ? '' : `${folder}/`, extension }
  const mounted = findSource(sources, /\bdrain\(\{ auth,/)
  const server = mounted ? { edits: [], files: {}, server: mounted } : planServerEdits(sources, place)
  if (server === null) return null
  const client = planClient(sources, place)
  const files = Object.entries({ ...LAZY_FILES, 'auth-server.ts': AUTH_SERVER, ...server.files }).map(
    ([name, text]) => [name, withExtension(text, extension)] as const,
  )
  return {
    files: { ...inFolder(folder, Object.fromEntries(files)), ...client.files },
    edits: [...server.edits, ...client.edits],
    byHand: [
      ...client.byHand,
      ...(packages.has('react') ? ['Wrap the page in AuthProvider: docs/react.md#set-up.'] : []),
      ...(/\bcors\b/.test(server.server?.text ?? '')
        ? ['Instead of cors(), let pages on other origins send cookies: docs/two-hosts.md.']
        : []),
      'Guard the procedures with protectedProcedure: docs/protect.md#kinds-of-procedures.',
    ],
    packages: ['kysely', 'better-sqlite3', 'hono', '@hono/node-server'],
    command: startCommand(app, { path: server.server?.path, extension }),
  }
}

/** Returns how to start the server with the keys. */
function startCommand(
  { packages }: DetectedApp,
  { path, extension }: { path: string | undefined; extension: string },
): string {
  if (path !== undefined && extension === '.ts') return `node --env-file=.env ${path}`
  if (path !== undefined && packages.has('tsx')) return `npx tsx --env-file=.env ${path}`
  return 'npx sallyport keys list --env .env'
}
