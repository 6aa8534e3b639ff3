import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../packages/core/test/support/free-port.ts'
import type { Library } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import { run } from '../test-packages/run.ts'
import type { App } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { FEATURES, GLOBALS, GUARDS } from './better-t-stack-edits.ts'
import { keep, printChanges } from './count-changes.ts'
import { editFiles } from './edit-files.ts'
import { installApp, installPackages, keysIn, runInit } from './init-app.ts'
import { proveApp } from './prove-app.ts'
import { serve } from './serve.ts'

const CHOICES = {
  frontend: 'tanstack-router',
  backend: 'hono',
  runtime: 'node',
  api: 'trpc',
  auth: 'none',
  database: 'sqlite',
  orm: 'drizzle',
  'db-setup': 'none',
  addons: 'none',
  examples: 'none',
  payments: 'none',
  'package-manager': 'npm',
  'web-deploy': 'none',
  'server-deploy': 'none',
}

/** An app of create-better-t-stack: page and API on two ports, Drizzle, and a SQLite file with libsql. */
export const betterTStackApp: App = {
  name: 'better-t-stack',
  async test({ root, libraries, browser }) {
    const choices = Object.entries(CHOICES).flatMap(([name, value]) => [`--${name}`, value])
    const flags = ['--no-git', '--no-install', '--disable-analytics', '--no-render-title']
    const create = ['exec', '-y', '--', 'create-better-t-stack@3.44.1', 'shop', ...choices, ...flags]
    run('npm', create, { cwd: root })
    const [folder, before] = [join(root, 'shop'), join(root, 'shop-before')]
    editFiles(folder, FEATURES)
    installShop(folder, libraries)
    keep(folder, { as: before })
    installPackages(folder, runInit(folder))
    printChanges('better-t-stack, by init', { before, after: folder, files: changedFiles(folder) })
    keep(folder, { as: before })
    editFiles(folder, GUARDS)
    printChanges('better-t-stack, by hand', { before, after: folder, files: Object.keys(GUARDS) })
    editFiles(folder, GLOBALS)

    const [port, pagePort] = [await freePort(), await freePort()]
    const [api, origin] = [`http://localhost:${port}`, `http://localhost:${pagePort}`]
    const [server, web] = [join(folder, 'apps/server'), join(folder, 'apps/web')]
    writeFileSync(join(web, '.env'), `VITE_SERVER_URL=${api}\n`)
    for (const script of ['env:generate', 'build', 'check-types'])
      run('npm', ['run', script], { cwd: folder })
    const env = { PORT: `${port}`, BASE_URL: api, CORS_ORIGIN: origin, NODE_ENV: 'test' }
    const [node, vite] = [process.execPath, join(folder, 'node_modules/vite/bin/vite.js')]
    await using _api = await serve([node, 'dist/index.mjs'], { cwd: server, env, url: api, exitCode: 0 })
    const preview = [node, vite, 'preview', '--port', `${pagePort}`] as const
    await using _page = await serve(preview, { cwd: web, env, url: origin, exitCode: 143 })
    const ban = (email: string) => banInSqlite(join(server, 'auth.db'), email)
    const served = { origin, api, trpcPath: '/trpc', isServerRendered: false }
    await proveApp({ ...served, signingKeys: keysIn(server).SIGNING_KEYS, ban }, browser)
  },
}

function installShop(folder: string, libraries: readonly Library[]): void {
  const peers = peersAt('highest', libraries)
  const file = join(folder, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  const trpc = { '@trpc/client': peers['@trpc/client'], '@trpc/server': peers['@trpc/server'] }
  // Later versions need a package that isn't in the registry.
  const overrides = { 'rolldown-plugin-dts': '0.28.8', '@trpc/tanstack-react-query': trpc }
  writeFileSync(file, JSON.stringify({ ...manifest, overrides }))
  installApp(folder, libraries)
}

/** Returns the files that differ from the last commit, without manifests. */
function changedFiles(cwd: string): readonly string[] {
  const files = run('git', ['ls-files', '-mo', '--exclude-standard'], { cwd }).trim().split('\n')
  return files.filter((file) => !file.endsWith('package.json') && !file.endsWith('package-lock.json'))
}
