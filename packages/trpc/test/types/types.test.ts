import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
const compilers = {
  '5.9': [fileURLToPath(new URL('check-own-files.ts', import.meta.url))],
  // Each further checker repeats work of the others, on processors that other tests need.
  '7': [join(root, 'node_modules/typescript/bin/tsc'), '--checkers', '1', '--pretty', 'false'],
}
type Version = keyof typeof compilers

/** Beside what a library depends on, as in a user's `node_modules`. */
const cacheOf = (library: string) => join(root, 'packages', library, 'node_modules/.cache/type-tests')
const declarationsOf = (library: string) => join(cacheOf(library), 'dist')

/** Runs a compiler in a process of its own, and returns its complaints. */
function compile(version: Version, ...args: string[]): Promise<string[]> {
  const command = [...compilers[version], ...args]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, command, { cwd: root }, (error, stdout, stderr) => {
      const errors = stdout.split('\n').filter((line) => line.includes('error TS'))
      if (error !== null && errors.length === 0) reject(new Error(stdout + stderr, { cause: error }))
      else resolve(errors)
    })
  })
}

/** What a user gets of a library: its declarations, as `build` makes them. */
async function emitDeclarations(library: string): Promise<void> {
  rmSync(declarationsOf(library), { recursive: true, force: true })
  const project = join(root, 'packages', library, 'tsconfig.build.json')
  // With `isolatedDeclarations` no file needs what it imports.
  const flags = ['--noCheck', '--noResolve', '--outDir', declarationsOf(library)]
  const errors = await compile('7', '-p', project, ...flags)
  expect(errors).toEqual([])
}

/** What is wrong in an app that has the libraries installed, and in their declarations. */
async function errorsIn(files: readonly string[], version: Version): Promise<string[]> {
  const project = join(cacheOf('trpc'), `typescript-${version}.json`)
  const settings = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      rootDir: root,
      paths: { ...pathsOf('core', 'index'), ...pathsOf('trpc', 'server') },
      // Looks into declarations, too: those of others are passed over below.
      skipLibCheck: false,
      // What has not changed since the last run is not looked at again.
      incremental: true,
      tsBuildInfoFile: `${project}.tsbuildinfo`,
    },
    files,
  }
  mkdirSync(cacheOf('trpc'), { recursive: true })
  writeFileSync(project, JSON.stringify(settings))
  const errors = await compile(version, '-p', project)
  return errors.filter((error) => !/^[^(]*node_modules\/(?!\.cache\/)/.test(error))
}

const pathsOf = (library: string, main: string) => ({
  [`@sallyport/${library}`]: [join(declarationsOf(library), `${main}.d.ts`)],
  [`@sallyport/${library}/*`]: [join(declarationsOf(library), '*.d.ts')],
})

beforeAll(async () => {
  await Promise.all(['core', 'trpc'].map(emitDeclarations))
}, 60_000)

// What must not compile is marked with `@ts-expect-error` in the fixtures, which is an error itself where it does.
describe('an app with the declarations of both libraries compiles, with all that it expects of their types', () => {
  const names = ['procedures', 'action', 'client', 'links', 'react', 'ssr', 'database', 'plugins']
  const files = names.map((name) => join(here, 'app', `${name}.ts`))

  test.concurrent.each(['5.9', '7'] as const)(
    'on TypeScript %s',
    async (version) => {
      expect(await errorsIn(files, version)).toEqual([])
    },
    60_000,
  )
})

test('the generated file of the app is what would be generated', async () => {
  const command = [join(root, 'packages/core/src/cli/main.ts'), 'generate', '--auth', 'auth.ts', '--check']
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: join(here, 'app') })
  expect(stdout).toBe('up to date\n')
})
