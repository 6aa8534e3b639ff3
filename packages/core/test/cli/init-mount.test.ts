import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, test } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

// `pnpm test:apps` runs the first five apps.
const directory = temporaryDirectory()
const APPS = fileURLToPath(new URL('../../../trpc/test/apps', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('../../../example', import.meta.url))
const host = hostSallyport()
afterAll(host.stop)
const init = (cwd: string) => host.run(['init', '--yes'], { cwd })

function createApp(files: Readonly<Record<string, string>>): string {
  const packages = ['@sallyport/core', '@sallyport/trpc', '@trpc/server', '@hono/node-server']
  const dependencies = Object.fromEntries(packages.map((name) => [name, '*']))
  return writeApp(directory, { 'package.json': JSON.stringify({ type: 'module', dependencies }), ...files })
}

const filesOf = (app: string): Record<string, string> =>
  Object.fromEntries(
    globSync('src/*.ts', { cwd: app }).map((path) => [
      path.replaceAll('\\', '/'),
      readFileSync(join(app, path), 'utf8'),
    ]),
  )

/** Returns the files of an app without authentication. */
function appOf(server: string, links: string): Record<string, string> {
  const paths = {
    [`src/${server}.ts`]: server,
    'src/trpc.ts': links,
    'src/context.ts': 'context',
    'src/router.ts': 'router',
  }
  return Object.fromEntries(
    Object.entries(paths).map(([path, name]) => [path, readFileSync(join(APPS, `${name}.ts`), 'utf8')]),
  )
}

const SOCKETS = [
  "import { authConfig } from './auth.config.ts'",
  'new WebSocketServer({ server, ...webSocketOptions(authConfig) })',
  'applyWSSHandler({ ...authHandlerOptions,',
]
const LISTENER = 'getRequestListener((request, { incoming }) => auth.handler(request, incoming.socket))'

describe('init mounts the auth endpoints on a server as in the documents of tRPC', () => {
  test.for([
    {
      server: 'fastify',
      links: 'trpc',
      lines: [
        "routes.all('/api/auth/*'",
        'register(fastifyWebsocket, { options: webSocketOptions(authConfig) })',
        'sockets: app.websocketServer, server: app.server',
      ],
    },
    {
      server: 'standalone',
      links: 'trpc',
      lines: [...SOCKETS, 'middleware: (req, res, next) =>', 'drain({ auth, sockets, server })'],
    },
    {
      server: 'standalone-handler',
      links: 'trpc',
      lines: [...SOCKETS, "if (req.url?.startsWith('/api/auth/')) return void listener(req, res)"],
    },
    {
      server: 'hono',
      links: 'trpc-sse',
      lines: [
        "createHandler({ auth, config: authConfig, router: appRouter, createContext, endpoint: '/trpc' })",
        "['/api/auth/*', '/trpc/*']",
      ],
    },
    {
      server: 'express',
      links: 'trpc-sse',
      lines: [
        `app.all(/^\\/api\\/auth\\//, ${LISTENER})`,
        'responseMeta: authResponseMeta, ...authHandlerOptions',
      ],
    },
  ])('$server', async ({ server, links, lines }, { expect }) => {
    const app = createApp(appOf(server, links))
    const { code, stdout } = await init(app)
    expect(code).toBe(0)
    const path = `src/${server}.ts`
    expect(stdout).toContain(`\nNext:\n  npm i kysely better-sqlite3 hono && node --env-file=.env ${path}\n`)
    expect(stdout.match(/By hand:\n(- .*\n)+/)?.[0]).toBe(
      'By hand:\n- Guard the procedures with protectedProcedure: docs/protect.md#kinds-of-procedures.\n',
    )
    const files = filesOf(app)
    for (const line of [...lines, 'await auth.ready()', "process.once('SIGTERM', () => drain({ auth, "])
      expect(files[path]).toContain(line)
    expect(files[path]).not.toContain('app.close()')
    expect(files['src/context.ts']).toContain(
      '(options: RequestContextOptions) => ({ ...authContext(options) })',
    )
    expect(files['src/router.ts']).toContain(
      'export const protectedProcedure = t.procedure.use(sessionMiddleware)\n',
    )
    expect(files['src/trpc.ts']).toContain('httpBatchLink({ fetch: authClient.fetch, maxItems: 20, url: ')
    expect(files['src/trpc.ts']).toContain(
      links === 'trpc' ? 'webSocketLink(authClient, socket)' : 'subscriptionLink(authClient, ',
    )
    expect((await init(app)).stdout).toContain('Nothing to write.')
    expect(filesOf(app)).toEqual(files)
  })

  test('files with the line ends of Windows are edited too, and keep them', async ({ expect }) => {
    const files = appOf('express', 'trpc-sse')
    const toCrlf = (texts: Record<string, string>) =>
      Object.fromEntries(Object.entries(texts).map(([path, text]) => [path, text.replaceAll('\n', '\r\n')]))
    const [app, onWindows] = [createApp(files), createApp(toCrlf(files))]
    await init(app)
    const { stdout } = await init(onWindows)
    expect(stdout).toContain('\n  + import { getRequestListener }')
    expect(stdout).not.toContain('\r')
    const edited = Object.keys(files).map((path) => [path, filesOf(app)[path] ?? ''])
    expect(filesOf(onWindows)).toMatchObject(toCrlf(Object.fromEntries(edited)))
    expect((await init(onWindows)).stdout).toContain('Nothing to write.')
  })

  test('an app in one file gets a context, and lines in its own style', async ({ expect }) => {
    const app = createApp({
      'src/index.ts': `import { initTRPC } from "@trpc/server";
import { createHTTPServer } from "@trpc/server/adapters/standalone";
import { db } from "./db.js";

const t = initTRPC.create({
  isDev: true,
});
const appRouter = t.router({ users: t.procedure.query(() => db.users) });
export type AppRouter = typeof appRouter;

createHTTPServer({
  router: appRouter,
  createContext() {
    return {};
  },
}).listen(3000);
`,
      'src/db.ts': 'export const db = { users: [] };\n',
    })
    expect((await init(app)).stdout).toContain(
      '- Create the client of the page: docs/install.md#in-the-browser.\n',
    )
    const files = filesOf(app)
    expect(files['src/context.ts']).toContain("from './auth-server.js'\n")
    expect(files['src/index.ts']).toBe(`import { getRequestListener } from "@hono/node-server";
import { authHandlerOptions, authResponseMeta, drain } from "@sallyport/trpc";
import { auth } from "./auth-server.js";
import { createContext } from "./context.js";
import { authErrorData, sessionMiddleware } from "@sallyport/trpc";
import type { Context } from "./context.js";
import { initTRPC } from "@trpc/server";
import { createHTTPServer } from "@trpc/server/adapters/standalone";
import { db } from "./db.js";

const t = initTRPC.context<Context>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  isDev: true,
});
export const protectedProcedure = t.procedure.use(sessionMiddleware);
const appRouter = t.router({ users: t.procedure.query(() => db.users) });
export type AppRouter = typeof appRouter;

const listener = getRequestListener((request, { incoming }) => auth.handler(request, incoming.socket));
await auth.ready();
process.once("SIGTERM", () => drain({ auth, server }));
const server = createHTTPServer({
  responseMeta: authResponseMeta,
  ...authHandlerOptions,
  middleware: (req, res, next) =>
    req.url?.startsWith("/api/auth/") ? void listener(req, res) : next(),
  router: appRouter,
  createContext,
}).listen(3000);
`)
  })
})

test.for([
  { place: 'an import', first: "import './env.ts'\n", call: '' },
  { place: 'a call after the imports', first: '', call: 'process.loadEnvFile()\n' },
])('a server starts that loads .env in $place', async ({ first, call }, { expect }) => {
  const app = createApp({
    'src/env.ts': 'process.loadEnvFile()\n',
    'src/index.ts': `${first}import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
${call}
const t = initTRPC.create()
const appRouter = t.router({})
createHTTPServer({ router: appRouter }).listen(0, () => process.exit())
`,
  })
  symlinkSync(join(EXAMPLE, 'node_modules'), join(app, 'node_modules'))
  await init(app)
  expect(filesOf(app)['src/index.ts']?.indexOf('import { getRequestListener }')).toBe(first.length)
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE }
  const started = spawnSync(process.execPath, ['src/index.ts'], { cwd: app, env, encoding: 'utf8' })
  expect(started).toMatchObject({ status: 0, stderr: '' })
  expect(existsSync(join(app, 'data/app.db'))).toBe(true)
})

test.for([
  ['a function', 'function main() {', false],
  ['a callback', 'connect().then(() => {', false],
  ['an async function', 'const main = async () => {', true],
  ['a block', 'if (process.env.PORT) {', true],
  ['a block in a function', 'function main() {\n  // Starts.\n  try {', false],
] as const)('the server may be in %s if it can await', async ([_name, head, isMounted], { expect }) => {
  const files = appOf('express', 'trpc-sse')
  const [imports = '', body = ''] = files['src/express.ts']?.split(/\n\n(?=const app)/) ?? []
  const indent = '  '.repeat(head.split('{').length - 1)
  const server = `${imports}\n${head}\n${body.replaceAll(/^(?=.)/gm, indent)}}\n`
  const app = createApp({ ...files, 'src/express.ts': server })
  const { code, stdout } = await init(app)
  expect(code).toBe(0)
  const text = filesOf(app)['src/express.ts']
  if (isMounted) expect(text).toContain(`\n${indent}await auth.ready()\n`)
  else expect(text).toBe(server)
  expect(stdout.includes('- Serve /api/auth, and spread the result of authContext in ')).toBe(!isMounted)
})

test('the middleware of Hono is replaced, and the path stays', async ({ expect }) => {
  const app = createApp({
    'src/index.ts': `import { serve } from '@hono/node-server'
import { trpcServer } from '@hono/trpc-server'
import { Hono } from 'hono'
import { appRouter } from './router'

const app = new Hono()
app.use(
  '/api/trpc/*',
  trpcServer({
    router: appRouter,
  }),
)
serve(app)
`,
    'src/router.ts':
      "import { initTRPC } from '@trpc/server'\nconst t = initTRPC.create()\nexport const appRouter = t.router({})\n",
  })
  await init(app)
  const { 'src/index.ts': server, 'src/router.ts': router } = filesOf(app)
  expect(server).toContain(
    "createHandler({ auth, config: authConfig, endpoint: '/api/trpc',\n    router: appRouter, createContext,\n  })",
  )
  expect(server).toContain("['/api/auth/*', '/api/trpc/*']")
  expect(server).toContain('const server = serve(app)')
  expect(server).not.toContain('trpcServer')
  expect(router).toContain("import type { Context } from './context'\n")
})

test('sockets beside Hono are checked, and those beside Fastify are left to the user', async ({ expect }) => {
  const sockets = `
const sockets = new WebSocketServer({ server })
applyWSSHandler({ wss: sockets, router: appRouter, createContext })
`
  const [hono = '', fastify = ''] = ['hono', 'fastify'].map(
    (name) => `${readFileSync(join(APPS, `${name}.ts`), 'utf8')}${sockets}`,
  )
  const app = createApp({ ...appOf('hono', 'trpc-sse'), 'src/hono.ts': hono })
  await init(app)
  for (const line of [...SOCKETS, 'drain({ auth, sockets, server })', 'authHandlerOptions, createHandler, '])
    expect(filesOf(app)['src/hono.ts']).toContain(line)
  const other = createApp({ ...appOf('fastify', 'trpc'), 'src/fastify.ts': fastify })
  expect((await init(other)).stdout).toContain('- Serve /api/auth, and ')
  expect(filesOf(other)['src/fastify.ts']).toBe(fastify)
})

describe("the app's own createContext passes its options on", () => {
  test.for([
    [
      'createContext = async () => ({ now: 1 })',
      'createContext = async (options: RequestContextOptions) => ({ ...authContext(options), now: 1 })',
    ],
    [
      'createContext = ({ req, res }: Options) => ({})',
      'createContext = ({ req, res, info }: Options) => ({ ...authContext({ req, res, info }) })',
    ],
    [
      'createContext = ({ req, res }: Options) => ({}) // no context',
      'createContext = ({ req, res, info }: Options) => ({ ...authContext({ req, res, info }) }) // no context',
    ],
    [
      'function createContext(opts: A | B) {\n  const a = f(opts)\n  return {\n    a,\n  }\n}',
      'function createContext(opts: A | B) {\n  const a = f(opts)\n  return {\n    ...authContext(opts),\n    a,\n  }\n}',
    ],
  ])('%s', async ([before, after], { expect }) => {
    const app = createApp({ ...appOf('express', 'trpc-sse'), 'src/context.ts': contextOf(before) })
    await init(app)
    expect(filesOf(app)['src/context.ts']).toContain(after)
  })
})

const contextOf = (text = '') =>
  `export ${text.startsWith('function') ? '' : 'const '}${text}\nexport type Context = ReturnType<typeof createContext>\n`

describe('init leaves an app unchanged, and lists the steps, if the server', () => {
  const replace =
    (path: string, old: string, current: string) => (files: Readonly<Record<string, string>>) => {
      const before = files[path] ?? ''
      if (!before.includes(old)) throw new Error(`${path} lacks ${old}`)
      return { [path]: before.replace(old, current) }
    }
  test.for([
    [
      'has headers that would replace ours',
      replace('src/standalone.ts', 'router: appRouter,', 'responseMeta: () => ({}), router: appRouter,'),
    ],
    [
      'checks upgrades on its own',
      replace('src/standalone.ts', '{ server }', '{ server, verifyClient: () => true }'),
    ],
    ['has sockets in another file', () => ({ 'src/sockets.ts': 'new WebSocketServer({ port: 3001 })\n' })],
    [
      'stops in its own way',
      replace('src/standalone.ts', 'server.listen', "process.on('SIGTERM', stop)\nserver.listen"),
    ],
    ['is one of two', (files) => ({ 'src/other.ts': files['src/standalone.ts'] ?? '' })],
    [
      'has guards',
      replace('src/router.ts', 'const { procedure } = t', 'const protectedProcedure = t.procedure'),
    ],
    [
      'formats errors',
      replace('src/router.ts', 'create()', 'create({ errorFormatter: ({ shape }) => shape })'),
    ],
    ['has a database in the context', replace('src/context.ts', '() => ({})', '() => ({ db })')],
    ['has a context of two parameters', replace('src/context.ts', '() => ({})', '(a: A, b: B) => ({})')],
    [
      'has a context with two results',
      replace(
        'src/context.ts',
        '() => ({})',
        '() => {\n  if (a) {\n    return { b }\n  }\n  return { c }\n}',
      ),
    ],
    ['has a context with a type', replace('src/context.ts', '() => ({})', '(): Context => ({})')],
  ] satisfies [string, (files: Readonly<Record<string, string>>) => Record<string, string>][])(
    '%s',
    async ([, change], { expect }) => {
      const unguarded = appOf('standalone', 'trpc')
      const files = { ...unguarded, ...change(unguarded) }
      const app = createApp(files)
      const { code, stdout } = await init(app)
      expect(code).toBe(0)
      expect(stdout).toContain('- Serve /api/auth, and spread the result of authContext in ')
      expect(filesOf(app)).toMatchObject(files)
    },
  )

  test.for([
    ['whose page has another origin', "url: '/trpc'", "url: 'http://localhost:3000/trpc'"],
    ['whose client sends headers', "url: '/trpc'", "url: '/trpc', headers: () => ({})"],
    ['whose links are not known', 'wsLink({ client })', 'wsLink(options)'],
  ])('leaves the client of an app %s', async ([, old = '', current = ''], { expect }) => {
    const unguarded = appOf('standalone', 'trpc')
    const client = unguarded['src/trpc.ts']?.replace(old, current) ?? ''
    const app = createApp({ ...unguarded, 'src/trpc.ts': client })
    const { stdout } = await init(app)
    expect(stdout).toContain('- Create the client of the page: docs/install.md#in-the-browser.\n')
    expect(filesOf(app)['src/trpc.ts']).toBe(client)
    expect(filesOf(app)['src/auth-client.ts']).toBeUndefined()
    expect(filesOf(app)['src/standalone.ts']).toContain('auth.handler')
  })
})
