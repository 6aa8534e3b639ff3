import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { runNext, serveNext } from '../../packages/trpc/test/next/run-next.ts'
import { install } from '../test-packages/create-project.ts'
import type { Library } from '../test-packages/pack-libraries.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { banInSqlite } from './ban-in-sqlite.ts'
import { countLines } from './count-lines.ts'
import { proveApp } from './prove-app.ts'
import { pushPrisma, withoutEngines } from './t3-prisma.ts'
import { addProofs, edit } from './t3-proofs.ts'

/** The app of create-t3-app, to which `init` adds auth. */
interface Setup {
  readonly tool: 'drizzle' | 'prisma'
  /** Where `init` puts the users. */
  readonly database: string
}

const SETUPS: readonly Setup[] = [
  { tool: 'drizzle', database: 'db.sqlite' },
  { tool: 'prisma', database: 'data/auth.db' },
]

export const t3Apps: readonly App[] = SETUPS.map((setup) => ({
  name: `t3 ${setup.tool}`,
  test: (place) => testSetup(setup, place),
}))

async function testSetup({ tool, database }: Setup, { root, libraries, browser }: Place): Promise<void> {
  const clock = startClock()
  const flags = ['--CI', '--noGit', '--noInstall', '--trpc', `--${tool}`, '--tailwind', '--appRouter']
  const name = `t3-${tool}`
  run('npx', ['-y', 'create-t3-app@7.40.0', name, ...flags, '--dbProvider', 'sqlite'], { cwd: root })
  const cwd = join(root, name)
  clock.pause(() => installApp(cwd, { tool, libraries }))
  run('git', ['init', '-q'], { cwd })
  commit(cwd)

  const printed = run('npx', ['sallyport', 'init', '--yes'], { cwd })
  const [, command = ''] = /\nNext:\n {2}(.*) && npm run dev\n$/.exec(printed) ?? []
  clock.pause(() => run('npm', [...command.split(' ').slice(1), '--no-audit', '--no-fund'], { cwd }))
  // The guard: the only line by hand.
  edit(cwd, 'src/server/api/routers/post.ts', [
    ['getLatest: publicProcedure', 'getLatest: protectedProcedure'],
    ['publicProcedure }', 'protectedProcedure, publicProcedure }'],
  ])
  await push(cwd, tool)
  const env = { NEXT_FONT_GOOGLE_MOCKED_RESPONSES: writeFonts(root) }
  await callFirst(cwd, env)
  const seconds = clock.seconds()
  const lines = countLines(cwd)
  console.log(`${name}: ${lines.text}; first protected call after ${seconds} s without installation`)
  assert.ok(lines.changed <= 60)
  assert.ok(seconds <= 120)

  addProofs(cwd)
  // With the app's tables and ours, its own command changes nothing.
  await push(cwd, tool)
  await runNext(['build'], { cwd, env })
  await using server = await serveNext({ args: ['start'] }, { cwd, env })
  const { SIGNING_KEYS: signingKeys = '' } = parseEnv(readFileSync(join(cwd, '.env'), 'utf8'))
  const ban = (email: string) => banInSqlite(join(cwd, database), email)
  await proveApp({ origin: server.origin, signingKeys, isSuperjson: true, ban }, browser)
}

/** Installs the dependencies of the app and the tarballs. */
function installApp(
  cwd: string,
  { tool, libraries }: { tool: Setup['tool']; libraries: readonly Library[] },
): void {
  const manifest: { dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(cwd, 'package.json'), 'utf8'),
  )
  for (const { name, tarball } of libraries) manifest.dependencies[name] = `file:${tarball}`
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest, null, 2))
  if (tool === 'prisma') withoutEngines(cwd, install)
  else install(cwd)
}

function commit(cwd: string): void {
  run('git', ['add', '-A'], { cwd })
  run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'app'], { cwd })
}

/** Runs `db:push` of the app. */
async function push(cwd: string, tool: Setup['tool']): Promise<void> {
  if (tool === 'prisma') await pushPrisma(cwd)
  else run('npm', ['run', 'db:push'], { cwd })
}

/** Starts the development server, signs up, and calls the procedure that has a guard now. */
async function callFirst(cwd: string, env: Record<string, string>): Promise<void> {
  await using server = await serveNext(
    { args: ['dev', '--turbo'] },
    { cwd, env: { ...env, NODE_ENV: 'development' } },
  )
  const headers = { origin: server.origin, 'content-type': 'application/json' }
  const body = JSON.stringify({
    email: 'first@example.com',
    password: 'a long enough password',
    name: 'First',
  })
  const signUp = await fetch(`${server.origin}/api/auth/sign-up/email`, { method: 'POST', headers, body })
  assert.equal(signUp.status, 200, await signUp.clone().text())
  const cookie = signUp.headers
    .getSetCookie()
    .map((setCookie) => setCookie.split(';')[0])
    .join('; ')
  const call = (headers: Record<string, string>) =>
    fetch(`${server.origin}/api/trpc/post.getLatest`, { headers })
  const response = await call({ cookie })
  assert.deepEqual([response.status, (await call({})).status], [200, 401], await response.text())
}

/** Measures time, but not that of installations. */
function startClock() {
  let start = performance.now()
  return {
    pause(work: () => void) {
      const paused = performance.now()
      work()
      start += performance.now() - paused
    },
    seconds: () => Math.round((performance.now() - start) / 1000),
  }
}

/** The fonts of Google, which are on another network. */
function writeFonts(root: string): string {
  const path = join(root, 'fonts.cjs')
  const css = '@font-face { font-family: "Geist"; src: local("Arial") }'
  const url = 'https://fonts.googleapis.com/css2?family=Geist:wght@100..900&display=swap'
  writeFileSync(path, `module.exports = ${JSON.stringify({ [url]: css })}\n`)
  return path
}
