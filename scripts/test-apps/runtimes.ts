import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { startPostgres } from '../../packages/core/test/support/embedded-postgres.ts'
import { freePort } from '../../packages/core/test/support/free-port.ts'
import { appKeys } from '../../packages/trpc/test/next/app-keys.ts'
import { proveD1 } from '../../packages/trpc/test/runtimes/prove-d1.ts'
import { proveRuntime } from '../../packages/trpc/test/runtimes/prove-runtime.ts'
import { serveWorker } from '../../packages/trpc/test/runtimes/serve-worker.ts'
import { type StoreName, writeRuntimeApp } from '../../packages/trpc/test/runtimes/write-runtime-app.ts'
import { install } from '../test-packages/create-project.ts'
import { tarballsOf } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { editFiles } from './edit-files.ts'
import { proveStop } from './prove-stop.ts'
import { type Server, serve } from './serve.ts'

type Environment = Readonly<Record<string, string>>
type Keys = Awaited<ReturnType<typeof appKeys>>

/** A server of the guide's app. */
interface GuideServer {
  /** Of `node_modules/.bin`, with the arguments. */
  readonly command: readonly [name: string, ...args: string[]]
  readonly store: StoreName
}

const BUN = ['bun', 'src/bun.ts'] as const
const DENO = ['deno', 'run', '-A', 'src/deno.ts'] as const

const SERVERS: readonly GuideServer[] = [
  { command: [...BUN], store: 'bun:sqlite' },
  { command: [...BUN], store: 'better-sqlite3' },
  { command: [...BUN], store: 'PostgreSQL' },
  { command: [...DENO], store: 'node:sqlite' },
  { command: [...DENO], store: 'better-sqlite3' },
  { command: [...DENO], store: 'PostgreSQL' },
]

/** The app of the quick start and docs/server.md on other runtimes than Node, and Workers in workerd. */
export const runtimeApps: readonly App[] = [
  ...SERVERS.map(
    (server): App => ({
      name: `${server.command[0]} ${server.store}`,
      async test(place) {
        const folder = createApp(place, server.store)
        if (server.store !== 'PostgreSQL') return testServer(folder, server, 'file:app.db')
        const postgres = await startPostgres()
        try {
          await testServer(folder, server, await postgres.createDatabase('app'))
        } finally {
          await postgres.stop()
        }
      },
    }),
  ),
  { name: 'workerd D1', test: testD1 },
  { name: 'workerd HTTP adapter', test: testHttpAdapter },
]

/** Writes the app into a new folder. All of them share one installation. */
function createApp({ root, libraries }: Place, store: StoreName): string {
  const installed = join(root, 'runtimes')
  if (!existsSync(installed)) {
    const { next: _, react: __, '@tanstack/react-query': ___, ...peers } = peersAt('highest', libraries)
    const dependencies = {
      ...peers,
      ...tarballsOf(libraries),
      '@hono/node-server': '^2.1.8',
      ws: '^8.23.0',
      bun: '^1.4.5',
      deno: '^2.9.6',
      wrangler: '4.110.0',
    }
    const manifest = { private: true, type: 'module', dependencies }
    editFiles(installed, { 'package.json': JSON.stringify(manifest) })
    install(installed)
  }
  const folder = mkdtempSync(join(installed, 'app-'))
  writeRuntimeApp(folder, store)
  return folder
}

async function testServer(folder: string, { command }: GuideServer, databaseUrl: string): Promise<void> {
  const socketPort = `${await freePort()}`
  const keys = { ...(await appKeys()), DATABASE_URL: databaseUrl }
  await using server = await serveApp(folder, command, { ...keys, SOCKET_PORT: socketPort })
  await proveRuntime({
    origin: server.origin,
    calls: `${server.origin}/trpc`,
    sockets: `ws://localhost:${socketPort}/trpc`,
    signingKeys: keys.SIGNING_KEYS,
    command: operator(folder, keys),
  })
  await proveStop(server, '/trpc')
}

async function testD1(place: Place): Promise<void> {
  const folder = createApp(place, 'better-sqlite3')
  const { JWKS, SIGNING_KEYS } = await appKeys()
  const port = await freePort()
  await using worker = await serveWorker(bundle(folder, 'd1'), { port, bindings: { JWKS } })
  await proveD1(worker, { JWKS, SIGNING_KEYS })
}

/** The Worker reads sessions in a process of Node, which signs users in. */
async function testHttpAdapter(place: Place): Promise<void> {
  const folder = createApp(place, 'better-sqlite3')
  const [keys, service, internalPort] = [await appKeys(), await appKeys(), await freePort()]
  const env = { ...keys, SERVICE_JWKS: service.JWKS, INTERNAL_PORT: `${internalPort}` }
  const command = [process.execPath, 'src/backend.ts'] as const
  await using server = await serveApp(folder, command, env)
  const bindings = {
    JWKS: keys.JWKS,
    BASE_URL: server.origin,
    INTERNAL_URL: `http://127.0.0.1:${internalPort}`,
    SERVICE_SIGNING_KEYS: service.SIGNING_KEYS,
  }
  await using worker = await serveWorker(bundle(folder, 'http'), { port: await freePort(), bindings })
  await proveRuntime({
    origin: server.origin,
    calls: `${worker.origin}/trpc`,
    signingKeys: keys.SIGNING_KEYS,
    command: operator(folder, keys),
  })
}

/** Bundles a Worker as a deployment does. */
function bundle(folder: string, name: string): string {
  const settings = { name, compatibility_date: '2026-07-01', compatibility_flags: ['nodejs_compat'] }
  writeFileSync(join(folder, 'wrangler.json'), JSON.stringify({ ...settings, send_metrics: false }))
  const wrangler = join(folder, '../node_modules/wrangler/bin/wrangler.js')
  const args = ['deploy', '--dry-run', '--outdir', 'out', `workers/${name}.ts`]
  run(process.execPath, [wrangler, ...args], { cwd: folder })
  return join(folder, 'out', `${name}.js`)
}

/** Returns a function that runs the command of an operator in Node, on the database of the app. */
function operator(folder: string, keys: Keys): (...args: readonly string[]) => void {
  const lines = Object.entries(keys).map(([name, value]) => `${name}='${value}'`)
  writeFileSync(join(folder, '.env'), lines.join('\n'))
  const sallyport = join(folder, '../node_modules/@sallyport/core/dist/main.js')
  const options = ['--env', '.env', '--database', keys.DATABASE_URL]
  return (...args) => void run(process.execPath, [sallyport, ...args, ...options], { cwd: folder })
}

/** Starts a server on a free port, and waits until it is ready. */
async function serveApp(
  cwd: string,
  [name, ...args]: readonly [string, ...string[]],
  env: Environment,
): Promise<Server> {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const url = `${origin}/healthz`
  const command = [resolve(cwd, '../node_modules/.bin', name), ...args] as const
  const isReady = ({ ok }: Response) => ok
  return serve(command, { cwd, env: { ...env, PORT: `${port}`, BASE_URL: origin }, url, isReady })
}
