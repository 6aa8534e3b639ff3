import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { runNext, serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { install } from '../test-packages/create-project.ts'
import { type Library, tarballsOf } from '../test-packages/pack-libraries.ts'
import { run } from '../test-packages/run.ts'
import type { Place } from './app.ts'
import { fetchAs } from './fetch-as.ts'
import { proveApp } from './prove-app.ts'

/** Installs the dependencies of an app and the tarballs, and commits the app. */
export function installApp(cwd: string, libraries: readonly Library[], installIt = install): void {
  const path = join(cwd, 'package.json')
  const manifest: { dependencies: Record<string, string> } = JSON.parse(readFileSync(path, 'utf8'))
  Object.assign(manifest.dependencies, tarballsOf(libraries))
  writeFileSync(path, JSON.stringify(manifest, null, 2))
  installIt(cwd)
  commitApp(cwd)
}

/** Commits an app: `init` requires a clean repository. */
export function commitApp(cwd: string): void {
  run('git', ['init', '-q'], { cwd })
  run('git', ['add', '-A'], { cwd })
  run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'app'], { cwd })
}

/** Runs `sallyport init`, and returns the packages that its last command installs. */
export function runInit(cwd: string): readonly string[] {
  const printed = run('npx', ['sallyport', 'init', '--yes'], { cwd })
  const [next, packages] = /\nNext:\n {2}(?:npm i ([^&]*) && )?(?:.* && )?npm run dev\n$/.exec(printed) ?? []
  assert.ok(next, printed)
  return packages?.split(' ') ?? []
}

export function installPackages(cwd: string, packages: readonly string[]): void {
  run('npm', ['install', ...packages, '--no-audit', '--no-fund', '--loglevel=error'], { cwd })
}

/** Starts the development server, signs up, and calls a procedure that has a guard. */
export async function callFirst(path: string, { cwd, env }: { cwd: string; env: Env }): Promise<void> {
  const options = { cwd, env: { ...env, NODE_ENV: 'development' } }
  await using server = await serveNext({ args: ['dev', '--turbo'] }, options)
  const user = { email: 'first@example.com', password: 'a long enough password', name: 'A' }
  const browser = await fetchAs(server.origin, user)
  const call = (cookie: string) => fetch(`${server.origin}/api/trpc/${path}`, { headers: { cookie } })
  const [anonymous, response] = [await call(''), await call(browser.header())]
  assert.deepEqual([anonymous.status, response.status], [401, 200], await response.text())
}

type Env = Readonly<Record<string, string>>

interface Proof extends Pick<Place, 'browser'> {
  readonly env: Env
  readonly isSuperjson?: boolean
  ban(email: string): void | Promise<void>
}

/** Builds and serves the app for production, with the keys that `init` wrote. */
export async function proveBuilt(cwd: string, { env, browser, ban, isSuperjson }: Proof): Promise<void> {
  await runNext(['build'], { cwd, env })
  await using server = await serveNext({ args: ['start'] }, { cwd, env })
  const { SIGNING_KEYS: signingKeys } = keysIn(cwd)
  const { origin } = server
  await proveApp({ origin, signingKeys, isSuperjson: isSuperjson ?? false, ban }, browser)
}

/** Returns the keys that `init` wrote. */
export function keysIn(cwd: string): Record<'SIGNING_KEYS' | 'JWKS', string> {
  const { SIGNING_KEYS = '', JWKS = '' } = parseEnv(readFileSync(join(cwd, '.env'), 'utf8'))
  return { SIGNING_KEYS, JWKS }
}

/** Returns variables with which Next.js doesn't download fonts from another network. */
export function mockFonts(root: string): Env {
  const path = join(root, 'fonts.cjs')
  const fonts = ['Geist', 'Geist+Mono'].map((family) => [
    `https://fonts.googleapis.com/css2?family=${family}:wght@100..900&display=swap`,
    `@font-face { font-family: "${family.replace('+', ' ')}"; src: local("Arial") }`,
  ])
  writeFileSync(path, `module.exports = ${JSON.stringify(Object.fromEntries(fonts))}\n`)
  return { NEXT_FONT_GOOGLE_MOCKED_RESPONSES: path }
}
