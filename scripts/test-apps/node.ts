import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TSCONFIG } from '../../packages/core/src/cli/init/templates.ts'
import { freePort } from '../../packages/core/test/support/free-port.ts'
import { install } from '../test-packages/create-project.ts'
import { type Library, tarballsOf } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { keep, printChanges } from './count-changes.ts'
import { editFiles } from './edit-files.ts'
import { keysIn } from './init-app.ts'
import { proveApp } from './prove-app.ts'
import { serve } from './serve.ts'

/** The apps without authentication. */
const UNGUARDED = fileURLToPath(new URL('../../packages/trpc/test/apps', import.meta.url))

/** The server of each app, and the links of its page. */
const SERVERS = [
  { server: 'fastify', links: 'trpc' },
  { server: 'standalone', links: 'trpc' },
  { server: 'standalone-handler', links: 'trpc' },
  { server: 'hono', links: 'trpc-sse' },
  { server: 'express', links: 'trpc-sse' },
] as const

/** Apps on Node.js in the shape of tRPC's examples. Vite serves their page. They share one installation. */
export const nodeApps: readonly App[] = SERVERS.map((setup) => ({
  name: setup.server,
  async test({ root, libraries, browser }) {
    const folder = join(root, 'node')
    if (!existsSync(folder)) installNode(folder, libraries)
    await testServer(folder, { setup, browser })
  },
}))

function installNode(folder: string, libraries: readonly Library[]): void {
  const peers = peersAt('highest', libraries)
  const dependencies = {
    ...tarballsOf(libraries),
    '@fastify/websocket': '^11.3.6',
    '@hono/node-server': '^2.1.8',
    '@trpc/client': peers['@trpc/client'],
    '@trpc/server': peers['@trpc/server'],
    'better-sqlite3': peers['better-sqlite3'],
    '@types/express': '^5.0.0',
    '@types/node': '^26.6.6',
    '@types/ws': '^8.18.0',
    express: '^5.3.0',
    fastify: '^5.12.8',
    hono: '^4.13.19',
    kysely: peers.kysely,
    typescript: '^5.9.3',
    vite: '^8.3.8',
    ws: '^8.23.0',
    zod: '^4.6.0',
  }
  editFiles(folder, {
    'package.json': JSON.stringify({ private: true, type: 'module', dependencies }),
    'vite.config.ts': VITE,
    'tsconfig.json': TSCONFIG,
    'index.html': '<body><script type="module" src="/src/main.ts"></script></body>',
  })
  install(folder)
}

/** Serves page and API on one origin, as a reverse proxy does. */
const VITE = `const target = 'http://localhost:' + process.env.PORT
export default { preview: { proxy: { '/api': { target }, '/trpc': { target, ws: true } } } }
`

async function testServer(
  folder: string,
  { setup, browser }: { setup: (typeof SERVERS)[number]; browser: Place['browser'] },
): Promise<void> {
  const { server, links } = setup
  for (const old of ['src', 'dist', 'data', '.env', '.gitignore'])
    rmSync(join(folder, old), { recursive: true, force: true })
  const [src, before] = [join(folder, 'src'), `${folder}-before`]
  for (const file of ['context.ts', 'router.ts', `${server}.ts`]) copyFile(file, { to: join(src, file) })
  copyFile(`${links}.ts`, { to: join(src, 'trpc.ts') })
  keep(src, { as: before })
  assert.match(run('npx', ['sallyport', 'init', '--yes'], { cwd: folder }), endsWith(server))
  printChanges(`${server}, by init`, { before, after: src, files: readdirSync(src) })
  keep(src, { as: before })
  editFiles(src, { 'router.ts': GUARDS })
  printChanges(`${server}, by hand`, { before, after: src, files: ['router.ts'] })
  editFiles(src, { 'main.ts': PAGE, ...(server === 'hono' && { 'hono.ts': LARGE_BODIES }) })
  run(process.execPath, ['node_modules/typescript/bin/tsc'], { cwd: folder })

  const vite = 'node_modules/vite/bin/vite.js'
  run(process.execPath, [vite, 'build', '--logLevel', 'error'], { cwd: folder })
  const [port, pagePort] = [await freePort(), await freePort()]
  const origin = `http://localhost:${pagePort}`
  const env = { PORT: `${port}`, BASE_URL: origin, NODE_ENV: 'test' }
  const preview = [process.execPath, vite, 'preview', '--port', `${pagePort}`, '--strictPort'] as const
  await using _page = await serve(preview, { cwd: folder, env, url: origin, exitCode: 143 })
  const api = [process.execPath, '--env-file=.env', `src/${server}.ts`] as const
  await using _api = await serve(api, { cwd: folder, env, url: `http://localhost:${port}`, exitCode: 0 })
  const ban = (email: string) => banInSqlite(join(folder, 'data/app.db'), email)
  const { SIGNING_KEYS: signingKeys } = keysIn(folder)
  await proveApp({ origin, trpcPath: '/trpc', isServerRendered: false, signingKeys, ban }, browser)
}

const copyFile = (file: string, { to }: { to: string }) => cpSync(join(UNGUARDED, file), to)

/** The output of `init` in an app with all packages. */
const endsWith = (server: string) =>
  new RegExp(
    `By hand:\\n- Guard the procedures .*\\n\\nNext:\\n {2}node --env-file=\\.env src/${server}\\.ts\\n$`,
  )

/** The lines by hand. */
const GUARDS = [
  ['const { procedure } = t', 'const procedure = protectedProcedure'],
  ["query(() => ({ email: 'anonymous' }))", 'query(({ ctx }) => ctx.user)'],
] as const

/** The proofs send 90 KB. The other adapters have an option for it before. */
const LARGE_BODIES = [['createHandler({', 'createHandler({ maxBodySize: 100_000,']] as const

const PAGE = `import { authClient } from './auth-client.ts'
import { trpc } from './trpc.ts'

Object.assign(window, { client: authClient })

/** Shows lines of text instead of the page. */
function show(...lines: string[]): void {
  document.body.replaceChildren(
    ...lines.map((line) => Object.assign(document.createElement('p'), { textContent: line })),
  )
}

function showUser(): void {
  let email = ''
  trpc.me.query().then(
    (user) => {
      email = user.email
      show(email)
    },
    (error) => show(error.message),
  )
  trpc.ticks.subscribe(undefined, {
    onData: (tick) => show(email, \`tick \${tick}\`),
    onError: (error) => show(error.message),
  })
}

if (location.pathname === '/me') {
  authClient.subscribe(() => {
    if (authClient.getState().status !== 'unauthenticated') return
    show()
    location.replace('/')
  })
  showUser()
} else show('Home')
`
