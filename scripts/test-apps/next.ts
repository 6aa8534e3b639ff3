import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { appKeys } from '../../packages/trpc/test/next/app-keys.ts'
import { browse } from '../../packages/trpc/test/next/browse.ts'
import { type NextServer, runNext, serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { visit } from '../../packages/trpc/test/next/visit.ts'
import { writeFiles } from '../../packages/trpc/test/next/write-files.ts'
import { install } from '../test-packages/create-project.ts'
import type { Library } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'

/** A way to build and serve the app. */
interface Setup {
  readonly name: string
  readonly command: 'dev' | 'start' | 'standalone'
  readonly args?: readonly string[]
  readonly settings?: object
  readonly isEdge?: boolean
}

const cacheComponents = { cacheComponents: true, partialPrefetching: true }

export const SETUPS: readonly Setup[] = [
  { name: 'next dev', command: 'dev' },
  { name: 'next dev --webpack', command: 'dev', args: ['--webpack'] },
  { name: 'cacheComponents', command: 'start', settings: cacheComponents },
  { name: 'webpack', command: 'start', args: ['--webpack'] },
  { name: 'webpack, cacheComponents', command: 'start', args: ['--webpack'], settings: cacheComponents },
  { name: 'standalone', command: 'standalone', settings: { output: 'standalone' } },
  { name: 'edge middleware', command: 'start', isEdge: true },
]

/** Installs the tarballs and the dependencies of the app with npm. */
export function installNext(folder: string, libraries: readonly Library[]): string {
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
  return folder
}

/** Builds and serves the app, and uses it by HTTP and in a browser. */
export async function useNext(
  app: string,
  { setup, browser }: { setup: Setup; browser: Parameters<typeof browse>[0] },
): Promise<void> {
  for (const old of ['.next', 'app', 'proxy.ts', 'middleware.ts', 'app.db'])
    rmSync(join(app, old), { recursive: true, force: true })
  writeFiles(app, {
    settings: { turbopack: { root: app }, ...setup.settings },
    isEdge: setup.isEdge ?? false,
  })
  await using server = await serve(app, setup)
  const { saved, page, actions } = await visit(server.origin, 'ada@example.com')
  assert.deepEqual(saved, { result: { data: 90_000 } })
  assert.match(page.html, /<p>ada@example\.com<\/p>/)
  assert.deepEqual(page.setCookies, ['service.jwt'])
  assert.deepEqual(actions, { ofUser: 200, withoutSession: 500, ofOtherSite: 500 })
  const { seen, errors } = await browse(browser, server.origin)
  assert.deepEqual(
    seen.map(({ path, users }) => [path, ...users]),
    [['/me', 'grace@example.com'], ['/'], ['/me', 'alan@example.com'], ['/']],
  )
  assert.deepEqual(errors, [])
}

async function serve(cwd: string, { command, args = [] }: Setup): Promise<NextServer> {
  const env = await appKeys()
  if (command === 'dev')
    return serveNext({ args: ['dev', ...args] }, { cwd, env: { ...env, NODE_ENV: 'development' } })
  // Without keys and a database.
  await runNext(['build', ...args], { cwd })
  if (command === 'start') return serveNext({ args: ['start'] }, { cwd, env })
  return serveNext({ script: '.next/standalone/server.js' }, { cwd, env })
}
