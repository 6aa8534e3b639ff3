import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { install } from '../test-packages/create-project.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { countLines } from './count-lines.ts'
import { editFiles } from './edit-files.ts'
import { callFirst, installApp, installPackages, mockFonts, proveBuilt, runInit } from './init-app.ts'
import { installWithoutEngines, pushPrisma } from './t3-prisma.ts'
import { addProofs } from './t3-proofs.ts'
import { startUsers, type Users, usersInFile } from './t3-users.ts'

interface Setup {
  readonly name: string
  readonly tool: 'drizzle' | 'prisma'
  readonly provider: 'sqlite' | 'postgres'
  readonly install: (cwd: string) => void
  /** Runs `db:push` of the app. */
  readonly push: (cwd: string) => void | Promise<void>
  /** Opens the database with the users. */
  readonly openUsers: (cwd: string) => Users | Promise<Users>
}

const drizzle = {
  tool: 'drizzle',
  install,
  push: (cwd: string) => void run('npm', ['run', 'db:push'], { cwd }),
} as const

const SETUPS: readonly Setup[] = [
  { name: 't3 drizzle', provider: 'sqlite', openUsers: usersInFile('db.sqlite'), ...drizzle },
  { name: 't3 postgres', provider: 'postgres', openUsers: startUsers, ...drizzle },
  {
    name: 't3 prisma',
    tool: 'prisma',
    provider: 'sqlite',
    openUsers: usersInFile('data/auth.db'),
    install: installWithoutEngines,
    push: pushPrisma,
  },
]

/** Apps of create-t3-app, to which `init` adds auth. */
export const t3Apps: readonly App[] = SETUPS.map((setup) => ({
  name: setup.name,
  test: (place) => testSetup(setup, place),
}))

/** The lines by hand: a guard, and its import. */
const GUARD = [
  ['getLatest: publicProcedure', 'getLatest: protectedProcedure'],
  ['publicProcedure }', 'protectedProcedure, publicProcedure }'],
] as const

async function testSetup(setup: Setup, { root, libraries, browser }: Place): Promise<void> {
  const clock = startClock()
  const name = setup.name.replace(' ', '-')
  const flags = ['--CI', '--noGit', '--noInstall', '--trpc', '--tailwind', '--appRouter', '--eslint']
  const database = [`--${setup.tool}`, '--dbProvider', setup.provider]
  run('npx', ['-y', 'create-t3-app@7.40.0', name, ...flags, ...database], { cwd: root })
  const cwd = join(root, name)
  await using users = await setup.openUsers(cwd)
  clock.pause(() => installApp(cwd, libraries, setup.install))
  const packages = runInit(cwd)
  clock.pause(() => installPackages(cwd, packages))
  editFiles(cwd, { 'src/server/api/routers/post.ts': GUARD })
  await setup.push(cwd)
  const env = mockFonts(root)
  await callFirst('post.getLatest', { cwd, env })
  const seconds = clock.seconds()
  console.log(`${name}: first protected call after ${seconds} s without installation`)
  const { changed } = countLines(cwd)
  assert.ok(changed <= 60)
  // As the build does, which then fails. The proofs don't follow the rules of the app.
  run('npm', ['run', 'lint'], { cwd })
  rmSync(join(cwd, 'eslint.config.js'))

  addProofs(cwd)
  // It keeps the users.
  await setup.push(cwd)
  await proveBuilt(cwd, { env, browser, ban: users.ban, isSuperjson: true })
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
