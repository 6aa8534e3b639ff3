import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { appKeys } from '../../packages/trpc/test/next/app-keys.ts'
import { proveActions } from '../../packages/trpc/test/next/prove-actions.ts'
import { type NextServer, runNext, serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { writeFiles } from '../../packages/trpc/test/next/write-files.ts'
import { install } from '../test-packages/create-project.ts'
import type { Library } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { proveApp } from './prove-app.ts'

/** A way to build and serve the app. */
interface Setup {
  readonly name: string
  readonly command: 'dev' | 'start' | 'standalone'
  readonly args?: readonly string[]
  readonly settings?: object
  readonly isEdge?: boolean
}

const cacheComponents = { cacheComponents: true, partialPrefetching: true }

const SETUPS: readonly Setup[] = [
  { name: 'dev', command: 'dev' },
  { name: 'dev, webpack', command: 'dev', args: ['--webpack'] },
  { name: 'start', command: 'start' },
  { name: 'cacheComponents', command: 'start', settings: cacheComponents },
  { name: 'webpack', command: 'start', args: ['--webpack'] },
  { name: 'webpack, cacheComponents', command: 'start', args: ['--webpack'], settings: cacheComponents },
  { name: 'standalone', command: 'standalone', settings: { output: 'standalone' } },
  { name: 'edge middleware', command: 'start', isEdge: true },
]

/** The app of docs/nextjs.md. All setups share one installation. */
export const nextApps: readonly App[] = SETUPS.map((setup) => ({
  name: `next ${setup.name}`,
  async test({ root, libraries, browser }) {
    const folder = join(root, 'next')
    if (!existsSync(folder)) installNext(folder, libraries)
    await testSetup(folder, { setup, browser })
  },
}))

/** Installs the tarballs and the dependencies of the app with npm. */
export function installNext(folder: string, libraries: readonly Library[]): void {
  const tarballs = libraries.map(({ name, tarball }) => [name, `file:${tarball}`])
  const { pg: _, rolldown: __, ...peers } = peersAt('highest', libraries)
  const dependencies = {
    ...peers,
    ...Object.fromEntries(tarballs),
    'react-dom': peers.react,
    '@trpc/tanstack-react-query': '^11.4.4',
    '@types/node': '^26.6.6',
    '@types/react': '^19.3.0',
    typescript: '^5.9.3',
  }
  // The adapter for TanStack Query names one version of tRPC: see docs/react.md.
  const overrides = {
    '@trpc/tanstack-react-query': { '@trpc/client': '$@trpc/client', '@trpc/server': '$@trpc/server' },
  }
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies, overrides }))
  install(folder)
}

async function testSetup(
  folder: string,
  { setup, browser }: { setup: Setup; browser: Place['browser'] },
): Promise<void> {
  for (const old of ['.next', 'app', 'proxy.ts', 'middleware.ts', 'app.db', 'app.db-shm', 'app.db-wal'])
    rmSync(join(folder, old), { recursive: true, force: true })
  writeFiles(folder, {
    settings: { turbopack: { root: folder }, ...setup.settings },
    isEdge: setup.isEdge ?? false,
  })
  const env = { ...(await appKeys()), DATABASE_URL: `file:${join(folder, 'app.db')}` }
  await using server = await serve(setup, { cwd: folder, env })
  const { origin } = server
  const ban = (email: string) => banInSqlite(join(folder, 'app.db'), email)
  await proveApp({ origin, signingKeys: env.SIGNING_KEYS, ban }, browser)
  await proveActions({ origin, ban })
}

async function serve(
  { command, args = [] }: Setup,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<NextServer> {
  if (command === 'dev')
    return serveNext({ args: ['dev', ...args] }, { cwd, env: { ...env, NODE_ENV: 'development' } })
  // Without keys and a database.
  await runNext(['build', ...args], { cwd })
  if (command === 'start') return serveNext({ args: ['start'] }, { cwd, env })
  cpSync(join(cwd, '.next/static'), join(cwd, '.next/standalone/.next/static'), { recursive: true })
  return serveNext({ script: '.next/standalone/server.js' }, { cwd, env })
}
