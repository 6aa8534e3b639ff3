import assert from 'node:assert/strict'
import { join } from 'node:path'
import { install } from '../test-packages/create-project.ts'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { countLines } from './count-lines.ts'
import { edit } from './edit.ts'
import { callFirst, installApp, installPackages, mockFonts, proveBuilt, runInit } from './init-app.ts'
import { installWithoutEngines, pushPrisma } from './t3-prisma.ts'
import { addProofs } from './t3-proofs.ts'

interface Setup {
  readonly tool: 'drizzle' | 'prisma'
  /** Where `init` puts the users. */
  readonly database: string
  readonly install: (cwd: string) => void
  /** Runs `db:push` of the app. */
  readonly push: (cwd: string) => void | Promise<void>
}

const SETUPS: readonly Setup[] = [
  {
    tool: 'drizzle',
    database: 'db.sqlite',
    install,
    push: (cwd) => void run('npm', ['run', 'db:push'], { cwd }),
  },
  { tool: 'prisma', database: 'data/auth.db', install: installWithoutEngines, push: pushPrisma },
]

/** Apps of create-t3-app, to which `init` adds auth. */
export const t3Apps: readonly App[] = SETUPS.map((setup) => ({
  name: `t3 ${setup.tool}`,
  test: (place) => testSetup(setup, place),
}))

/** The lines by hand: a guard, and its import. */
const GUARD = [
  ['getLatest: publicProcedure', 'getLatest: protectedProcedure'],
  ['publicProcedure }', 'protectedProcedure, publicProcedure }'],
] as const

async function testSetup(setup: Setup, { root, libraries, browser }: Place): Promise<void> {
  const clock = startClock()
  const name = `t3-${setup.tool}`
  const flags = ['--CI', '--noGit', '--noInstall', '--trpc', `--${setup.tool}`, '--tailwind', '--appRouter']
  run('npx', ['-y', 'create-t3-app@7.40.0', name, ...flags, '--dbProvider', 'sqlite'], { cwd: root })
  const cwd = join(root, name)
  clock.pause(() => installApp(cwd, libraries, setup.install))
  const packages = runInit(cwd)
  clock.pause(() => installPackages(cwd, packages))
  edit(cwd, 'src/server/api/routers/post.ts', GUARD)
  await setup.push(cwd)
  const env = mockFonts(root)
  await callFirst('post.getLatest', { cwd, env })
  const seconds = clock.seconds()
  const { changed, text } = countLines(cwd)
  console.log(`${name}: ${text}; first protected call after ${seconds} s without installation`)
  assert.ok(changed <= 60)

  addProofs(cwd)
  // It keeps the users.
  await setup.push(cwd)
  await proveBuilt(cwd, { env, browser, database: setup.database, isSuperjson: true })
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
