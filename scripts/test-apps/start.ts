import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDocuments } from '../../packages/trpc/test/documents/read-documents.ts'
import { serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { countLines } from './count-lines.ts'
import { withDrain } from './guide-files.ts'
import { installApp, installPackages, keysIn, runInit } from './init-app.ts'
import { proveApp } from './prove-app.ts'
import { proveStop } from './prove-stop.ts'
import type { Server } from './serve.ts'
import { writeStartPages } from './start-pages.ts'
import { proveReloads, proveStart } from './start-proofs.ts'

const CLI = '@tanstack/cli@0.71.0'

/** An app of TanStack's CLI after `sallyport init`. Both share one installation. */
export const startApps: readonly App[] = [
  {
    name: 'TanStack Start',
    test: (place) =>
      testApp(place, {
        serve: (cwd, env) => serveNext({ script: '.output/server/index.mjs' }, { cwd, env }),
        prove: (server) => proveStop(server),
      }),
  },
  {
    name: 'TanStack Start, dev',
    test: (place) =>
      testApp(place, {
        serve(cwd, env) {
          const script = 'node_modules/vite/bin/vite.js'
          return serveNext({ script, args: ['dev'] }, { cwd, env: { ...env, NODE_ENV: 'development' } })
        },
        prove: ({ origin, pid }, cwd) => proveReloads(origin, { cwd, pid }),
      }),
  },
]

interface Setup {
  serve(cwd: string, env: Record<string, string>): Promise<Server>
  /** What only this setup has. */
  prove(server: Server, cwd: string): Promise<void>
}

async function testApp({ root, libraries, browser }: Place, { serve, prove }: Setup): Promise<void> {
  const cwd = join(root, 'start')
  if (!existsSync(cwd)) createApp({ root, libraries })
  for (const suffix of ['', '-shm', '-wal']) rmSync(join(cwd, `data/app.db${suffix}`), { force: true })
  const keys = keysIn(cwd)
  await using server = await serve(cwd, keys)
  const { origin } = server
  const ban = (email: string) => banInSqlite(join(cwd, 'data/app.db'), email)
  await proveApp({ origin, signingKeys: keys.SIGNING_KEYS, isSuperjson: true, ban }, browser)
  await proveStart(origin, browser)
  await prove(server, cwd)
}

/** Creates the app, runs `sallyport init`, adds the pages of the proofs, and builds it without secrets. */
function createApp({ root, libraries }: Pick<Place, 'root' | 'libraries'>): void {
  const cwd = join(root, 'start')
  const options = '--package-manager npm --framework React -y --deployment nitro --no-toolchain'
  const without = ['--no-git', '--no-install', '--no-intent', ...options.split(' ')]
  run('npx', ['-y', CLI, 'create', 'start', '--add-ons', 'tRPC', ...without], { cwd: root })
  installApp(cwd, libraries)
  const packages = runInit(cwd)
  assert.deepEqual(packages, ['kysely', 'better-sqlite3'])
  const blocks = guideBlocks()
  for (const [name, text] of blocks)
    if (!/(me|rotate-key)\.tsx?$/.test(name)) assert.equal(readFileSync(join(cwd, name), 'utf8'), text, name)
  countLines(cwd)
  installPackages(cwd, packages)
  writeFileSync(join(cwd, 'src/context.ts'), withDrain(`${blocks.get('src/context.ts')}`))
  writeStartPages(cwd, blocks)
  run('npx', ['vite', 'build'], { cwd })
  run('npx', ['tsc', '--noEmit'], { cwd })
}

/** The files of the guide, by path. */
function guideBlocks(): Map<string, string> {
  const page = readDocuments().find(({ path }) => path === 'docs/tanstack-start.md')
  const named = page?.blocks.flatMap(({ name, code }): [string, string][] => (name ? [[name, code]] : []))
  assert.ok(named && named.length > 9)
  return new Map(named)
}
