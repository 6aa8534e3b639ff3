import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../packages/core/test/support/free-port.ts'
import { appKeys } from '../../packages/trpc/test/next/app-keys.ts'
import { install } from '../test-packages/create-project.ts'
import { type Library, tarballsOf } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { printChanges } from './count-changes.ts'
import { editFiles } from './edit-files.ts'
import { proveApp } from './prove-app.ts'
import { serve } from './serve.ts'

/** The apps with and without authentication. */
const BEFORE = fileURLToPath(new URL('../../packages/trpc/test/apps/before', import.meta.url))
const AFTER = fileURLToPath(new URL('../../packages/trpc/test/apps/after', import.meta.url))

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
    express: '^5.3.0',
    fastify: '^5.12.8',
    hono: '^4.13.19',
    kysely: peers.kysely,
    vite: '^8.3.8',
    ws: '^8.23.0',
    zod: '^4.6.0',
  }
  editFiles(folder, {
    'package.json': JSON.stringify({ private: true, type: 'module', dependencies }),
    'vite.config.ts': VITE,
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
  const files = ['auth.config.ts', 'auth.ts', 'auth-client.ts', 'context.ts', 'router.ts']
  printChanges(server, { before: BEFORE, after: AFTER, files: [...files, `${server}.ts`, `${links}.ts`] })
  const src = join(folder, 'src')
  for (const old of ['src', 'dist', 'app.db', 'app.db-shm', 'app.db-wal'])
    rmSync(join(folder, old), { recursive: true, force: true })
  cpSync(AFTER, src, { recursive: true })
  cpSync(join(AFTER, `${links}.ts`), join(src, 'trpc.ts'))

  const vite = 'node_modules/vite/bin/vite.js'
  run(process.execPath, [vite, 'build', '--logLevel', 'error'], { cwd: folder })
  const [port, pagePort] = [await freePort(), await freePort()]
  const origin = `http://localhost:${pagePort}`
  const env = { ...(await appKeys()), PORT: `${port}`, BASE_URL: origin, NODE_ENV: 'test' }
  const preview = [vite, 'preview', '--port', `${pagePort}`, '--strictPort']
  await using _page = await serve(preview, { cwd: folder, env, url: origin, exitCode: 143 })
  await using _api = await serve([`src/${server}.ts`], { cwd: folder, env, url: `http://localhost:${port}` })
  const ban = (email: string) => banInSqlite(join(folder, 'app.db'), email)
  const { SIGNING_KEYS: signingKeys } = env
  await proveApp({ origin, trpcPath: '/trpc', isServerRendered: false, signingKeys, ban }, browser)
}
