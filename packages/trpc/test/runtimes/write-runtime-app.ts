import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readDocuments } from '../documents/read-documents.ts'

/** Where an app stores sessions, and how its `context.ts` opens a client of the runtime. */
const STORES = {
  'better-sqlite3': null,
  'bun:sqlite': { import: "import { Database } from 'bun:sqlite'", client: "new Database('app.db')" },
  'node:sqlite': {
    import: "import { DatabaseSync } from 'node:sqlite'",
    client: "new DatabaseSync('app.db')",
  },
  PostgreSQL: null,
} as const

export type StoreName = keyof typeof STORES

const TICKS = `  ticks: protectedProcedure.subscription(async function* () {
    for (let tick = 1; ; tick++) {
      yield tick
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }),
`

/** The process with the database of a Worker. */
const BACKEND = `import { server } from './node-http.ts'
import './internal-listener.ts'

server.listen(Number(process.env.PORT))
`

/** Writes the app of the guide, with a subscription and an entry for each runtime, and two Workers. */
export function writeRuntimeApp(folder: string, store: StoreName): void {
  const files = new Map<string, string>()
  const page = store === 'PostgreSQL' ? ['docs/databases.md'] : []
  for (const path of ['README.md', 'docs/server.md', 'docs/actions.md', ...page])
    for (const { name, code } of readDocuments().find((document) => document.path === path)?.blocks ?? [])
      if (name?.endsWith('.ts')) files.set(name, code)
  const edit = (name: string, from: RegExp, to: string) =>
    files.set(name, `${files.get(name)}`.replace(from, to))
  edit('router.ts', /^ {2}rotateKey:/m, `${TICKS}$&`)
  edit('bun.ts', /serve\(\{/, '$& port: Number(process.env.PORT),')
  edit('deno.ts', /3000/, 'Number(process.env.PORT)')
  for (const runtime of ['bun', 'deno']) {
    edit(`${runtime}.ts`, /auth, server \}/, 'auth, sockets, server: [server, socketServer] }')
    edit(`${runtime}.ts`, /^/, "import { server as socketServer, sockets } from './sockets.ts'\n")
  }
  edit('internal-listener.ts', /3002/, 'Number(process.env.INTERNAL_PORT)')
  const own = STORES[store]
  if (own) edit('context.ts', /openSqlite\(.*\)$/m, `openSqlite({ client: ${own.client} })\n${own.import}`)
  // The runtimes serve HTTP on another port.
  files.set('sockets.ts', files.get('server.ts') ?? '')
  edit(
    'sockets.ts',
    /import \{ server \} .*/,
    "import { createServer } from 'node:http'\nexport const server = createServer()",
  )
  edit('sockets.ts', /PORT \?\? 3000/, 'SOCKET_PORT')
  edit('sockets.ts', /const sockets/, 'export $&')
  // The other server stops both.
  edit('sockets.ts', /process\.once.*/s, '')
  files.set('backend.ts', BACKEND)
  mkdirSync(join(folder, 'src'), { recursive: true })
  for (const [name, text] of files) writeFileSync(join(folder, 'src', name), text)
  cpSync(fileURLToPath(new URL('workers', import.meta.url)), join(folder, 'workers'), { recursive: true })
}
