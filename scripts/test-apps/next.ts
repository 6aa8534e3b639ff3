import assert from 'node:assert/strict'
import { appendFileSync, cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { appKeys } from '../../packages/trpc/test/next/app-keys.ts'
import { proveActions } from '../../packages/trpc/test/next/prove-actions.ts'
import { runNext, serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { writeFiles } from '../../packages/trpc/test/next/write-files.ts'
import { install, OVERRIDES } from '../test-packages/create-project.ts'
import { type Library, tarballsOf } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { countHandles } from './count-handles.ts'
import { fetchAs } from './fetch-as.ts'
import { proveApp } from './prove-app.ts'
import { proveStop } from './prove-stop.ts'
import type { Server } from './serve.ts'

/** A way to build and serve the app. */
interface Setup {
  readonly name: string
  readonly command: 'dev' | 'start' | 'standalone'
  readonly args?: readonly string[]
  /** The content of `next.config.ts`. @default the one of create-next-app, which has `cacheComponents` */
  readonly settings?: object
  readonly isEdge?: boolean
}

const SETUPS: readonly Setup[] = [
  { name: 'dev', command: 'dev' },
  { name: 'dev, webpack', command: 'dev', args: ['--webpack'] },
  { name: 'start', command: 'start' },
  { name: 'start, webpack', command: 'start', args: ['--webpack'] },
  { name: 'start without cacheComponents', command: 'start', settings: {} },
  { name: 'start without cacheComponents, webpack', command: 'start', args: ['--webpack'], settings: {} },
  { name: 'standalone', command: 'standalone', settings: { output: 'standalone' } },
  { name: 'edge middleware', command: 'start', isEdge: true },
]

/** The app of docs/nextjs.md in one of create-next-app. All setups share one installation. */
export const nextApps: readonly App[] = SETUPS.map((setup) => ({
  name: `next ${setup.name}`,
  async test({ root, libraries, browser }) {
    await testSetup(newNextApp(root, libraries), { setup, browser })
  },
}))

/** Returns the folder of a new app. */
export function newNextApp(root: string, libraries: readonly Library[]): string {
  const scaffold = join(root, 'scaffold')
  const folder = join(root, 'next')
  if (!existsSync(scaffold)) {
    createApp(root, libraries)
    renameSync(folder, scaffold)
  }
  rmSync(folder, { recursive: true, force: true })
  cpSync(scaffold, folder, { recursive: true })
  return folder
}

/** Creates the folder `next`, with the tarballs and the other dependencies of the guide. */
function createApp(root: string, libraries: readonly Library[]): void {
  const options = ['--ts', '--app', '--no-src-dir', '--no-tailwind', '--no-linter', '--no-react-compiler']
  const args = ['-y', 'create-next-app@16', 'next', ...options, '--import-alias', '@/*']
  run('npx', [...args, '--use-npm', '--skip-install', '--disable-git', '--yes'], { cwd: root })
  const file = join(root, 'next/package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  const {
    pg: _,
    rolldown: __,
    next: ___,
    react: ____,
    // `init` leaves an app with another auth library unchanged.
    'better-auth': _____,
    ...peers
  } = peersAt('highest', libraries)
  const added = { ...peers, ...tarballsOf(libraries), '@trpc/tanstack-react-query': '^11.4.4' }
  const dependencies = { ...manifest.dependencies, ...added }
  writeFileSync(file, JSON.stringify({ ...manifest, dependencies, overrides: OVERRIDES }))
  install(join(root, 'next'))
}

async function testSetup(
  folder: string,
  { setup, browser }: { setup: Setup; browser: Place['browser'] },
): Promise<void> {
  const { command, settings, isEdge } = setup
  writeFiles(folder, { settings, isEdge })
  const file = join(folder, 'app.db')
  const env = { ...(await appKeys()), DATABASE_URL: `file:${file}` }
  await using server = await serve(setup, { cwd: folder, env })
  const { origin } = server
  const ban = (email: string) => banInSqlite(file, email)
  await proveApp({ origin, signingKeys: env.SIGNING_KEYS, ban }, browser)
  await proveActions({ origin, ban })
  if (command === 'dev') await proveReload(server, folder)
  else await proveStop(server)
}

async function serve(
  { command, args = [] }: Setup,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<Server> {
  if (command === 'dev')
    return serveNext({ args: ['dev', ...args] }, { cwd, env: { ...env, NODE_ENV: 'development' } })
  // Without keys and a database.
  await runNext(['build', ...args], { cwd })
  if (command === 'start') return serveNext({ args: ['start'] }, { cwd, env })
  // Outside the app, whose `node_modules` could hide a missing file.
  const moved = join(cwd, '../standalone')
  cpSync(join(cwd, '.next/standalone'), moved, { recursive: true })
  for (const files of ['public', '.next/static'])
    cpSync(join(cwd, files), join(moved, files), { recursive: true })
  return serveNext({ script: 'server.js' }, { cwd: moved, env })
}

/** Proves that hot reloads of the module that opens the database don't open it again. */
async function proveReload({ origin, pid, output }: Server, folder: string): Promise<void> {
  const user = { email: 'mary@example.com', password: 'a long enough password', name: 'Mary' }
  const browser = await fetchAs(origin, user)
  const counts: number[] = []
  for (let edit = 0; edit < 6; edit++) {
    appendFileSync(join(folder, 'context.ts'), `console.log('edit ${edit}')\n`)
    while (!output().includes(`edit ${edit}`)) await delay(100, await browser.fetch(`${origin}/me`))
    for (const path of ['/me', '/api/trpc/me'])
      assert.match(await (await browser.fetch(`${origin}${path}`)).text(), /mary@example\.com/)
    counts.push(countHandles(pid, join(folder, 'app.db')))
  }
  assert.ok(Number(counts[0]) > 0)
  assert.deepEqual(new Set(counts).size, 1, `open files after each edit: ${counts.join(', ')}`)
}
