import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { afterAll, describe, onTestFinished, test } from 'vitest'
import { LAZY_FILES } from '../../src/cli/init/mount/templates.ts'
import { FILES, TSCONFIG } from '../../src/cli/init/templates.ts'
import { hostSallyport } from '../support/host-sallyport.ts'
import type { Run } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

const directory = temporaryDirectory()
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const MAIN = join(ROOT, 'packages/core/src/cli/main.ts')
const OURS = { '@sallyport/core': '0.0.0', '@sallyport/trpc': '0.0.0' }
const manifest = (packages: Readonly<Record<string, string>> = {}) =>
  `${JSON.stringify({ name: 'app', type: 'module', dependencies: { ...OURS, ...packages } }, null, 2)}\n`

/** Creates an app that has the packages of the example. */
function createApp(files: Readonly<Record<string, string>>): string {
  const app = writeApp(directory, { 'package.json': manifest(), ...files })
  symlinkSync(join(ROOT, 'packages/example/node_modules'), join(app, 'node_modules'))
  return app
}

const host = hostSallyport()
afterAll(host.stop)

/** Runs the command in a process that the calls share. The tests in a terminal start their own. */
const init = (cwd: string, ...args: readonly string[]): Promise<Run> => host.run(['init', ...args], { cwd })

/** Returns the files of an app, with their text. */
function filesOf(app: string): Record<string, string> {
  const paths = globSync(['**/*.*', '.env', '.gitignore'], { cwd: app, exclude: ['node_modules/**'] })
  return Object.fromEntries(paths.toSorted().map((path) => [path, readFileSync(join(app, path), 'utf8')]))
}

function git(app: string, ...args: readonly string[]): string {
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
  return execFileSync('git', [...identity, ...args], { cwd: app, encoding: 'utf8', stdio: 'pipe' })
}

/** Creates a repository in which everything is committed. */
function createRepository(files: Readonly<Record<string, string>> = {}): string {
  const app = createApp({ '.gitignore': 'node_modules\n', ...files })
  git(app, 'init', '-q')
  git(app, 'add', '-A')
  git(app, 'commit', '-qm', 'first')
  return app
}

/** Returns what the compiler reports about an app. */
function typeErrors(app: string): string {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const args = [tsc, '-p', app, '--typeRoots', join(ROOT, 'node_modules/@types')]
  return spawnSync(process.execPath, args, { cwd: app, encoding: 'utf8' }).stdout
}

describe('the files that init writes', () => {
  test('are those of the quick start and the install guide', ({ expect }) => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
    for (const [name, text] of Object.entries(FILES)) {
      expect(text).toMatch(new RegExp(`^// ${name}`))
      expect(readme).toContain(`\`\`\`ts\n${text}\`\`\`\n`)
    }
    expect(readme.match(/^```ts$/gm)).toHaveLength(Object.keys(FILES).length)
    const guide = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
    expect(guide).toContain(`\`\`\`json\n${TSCONFIG}\`\`\`\n`)
    expect(guide).toContain(`\`\`\`ts\n${LAZY_FILES['auth.config.ts']}\`\`\`\n`)
  })

  test('compile and serve a protected procedure in a new app', async ({ expect }) => {
    const app = createApp({ 'package.json': manifest().replace('"module"', '"commonjs"') })
    const { code, stdout, stderr } = await init(app, '--yes')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/\nNext:\n {2}npm i .*hono.* && node --env-file=\.env src\/server\.ts\n$/)
    expect(Object.keys(filesOf(app))).toEqual([
      '.env',
      '.gitignore',
      'package.json',
      ...Object.keys(FILES).map((name) => join('src', name)),
      'tsconfig.json',
    ])
    expect(filesOf(app)['package.json']).toBe(manifest())
    expect(typeErrors(app)).toBe('')
    const url = await startApp(app)
    const headers = { 'x-sallyport': '1', 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Me', email: 'me@example.com', password: 'a long password' })
    const signedUp = await fetch(`${url}/api/auth/sign-up/email`, { method: 'POST', headers, body })
    const cookie = signedUp.headers
      .getSetCookie()
      .map((text) => text.split(';')[0])
      .join('; ')
    const me = await fetch(`${url}/trpc/me`, { headers: { cookie } })
    expect(await me.json()).toMatchObject({ result: { data: { email: 'me@example.com' } } })
  })

  /** Starts the server on a free port. */
  async function startApp(app: string): Promise<string> {
    const server = join(app, 'src/server.ts')
    writeFileSync(server, readFileSync(server, 'utf8').replace('port: 3000', 'port: 0'))
    const { PATH, NODE_COMPILE_CACHE } = process.env
    const child = spawn(process.execPath, ['--env-file=.env', server], {
      cwd: app,
      env: { PATH, NODE_COMPILE_CACHE },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(async () => {
      if (child.kill()) await once(child, 'exit')
    })
    const [url] = await Promise.race([
      once(child.stdout.setEncoding('utf8'), 'data'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`It ended with ${code}`))),
    ])
    return String(url).trim()
  }
})

describe('init in an app with sources', () => {
  const THREE = ['auth.config.ts', 'auth.ts', 'context.ts']

  test.for([
    { app: 'Hono', packages: { hono: '4' }, folder: 'src', guide: 'docs/server.md#hono' },
    { app: 'Express', packages: { express: '5', kysely: '0' }, folder: '', guide: 'docs/server.md#express' },
    { app: 'Fastify', packages: { fastify: '5' }, folder: 'src', guide: 'docs/server.md#fastify' },
    { app: 'Node', packages: { '@trpc/server': '11' }, folder: '', guide: 'docs/server.md' },
    { app: 'Vite', packages: { vite: '8', '@trpc/server': '11' }, folder: 'src', guide: 'docs/server.md' },
  ])(
    '$app: writes three files that the doctor accepts, and says what to do by hand',
    async (scene, { expect }) => {
      const { app: name, packages, folder, guide } = scene
      const index = join(folder, 'index.ts')
      const app = createApp({
        'package.json': manifest(packages),
        [index]: 'export {}\n',
        'tsconfig.json': TSCONFIG,
        'pnpm-lock.yaml': '',
      })
      const before = filesOf(app)
      const { code, stdout } = await init(app, '--yes')
      expect(code).toBe(0)
      expect(stdout).toContain(`Found ${name}`)
      expect(stdout).toContain(`: ${guide}.\n`)
      expect(stdout).toMatch(/\n {2}pnpm add (?!.*hono).*better-sqlite3.* && npx sallyport doctor .*\n$/)
      const after = filesOf(app)
      expect(after).toMatchObject(before)
      const added = Object.keys(after).filter((path) => !(path in before))
      expect(added).toEqual(['.env', '.gitignore', ...THREE.map((file) => join(folder, file))])
      const doctor = stdout.trimEnd().split('npx sallyport ')[1]?.split(' ') ?? []
      expect(await host.run(doctor, { cwd: app, env: { BASE_URL: 'http://localhost:3000' } })).toMatchObject({
        code: 0,
        stderr: '',
      })
    },
  )

  test.for([
    { app: 'Next.js', packages: { next: '16', 'drizzle-orm': '1' }, guide: 'docs/nextjs.md' },
    {
      app: 'the Pages Router of Next.js',
      packages: { next: '15', '@trpc/server': '11' },
      path: 'src/pages/index.tsx',
      guide: 'docs/pages-router.md',
    },
    {
      app: 'TanStack Start without tRPC',
      packages: { '@tanstack/react-start': '1', vite: '8' },
      guide: 'docs/tanstack-start.md',
    },
    { app: 'React Router', packages: { '@react-router/dev': '8', vite: '8' }, guide: 'docs/react-router.md' },
    {
      app: 'SvelteKit',
      packages: { '@sveltejs/kit': '3', vite: '8', '@trpc/server': '11' },
      guide: 'docs/other-frameworks.md#sveltekit',
    },
    { app: 'Nuxt', packages: { nuxt: '4' }, guide: 'docs/other-frameworks.md#nuxt' },
    { app: 'Vite', packages: { vite: '8' }, guide: 'docs/react.md#serve-the-page' },
  ])('$app: writes the keys, and names the guide', async ({ packages, path, guide }, { expect }) => {
    const page = path ?? 'src/app/page.tsx'
    const app = createApp({ 'package.json': manifest(packages), [page]: 'export {}\n' })
    const before = filesOf(app)
    const { code, stdout } = await init(app, '--yes')
    expect(code).toBe(0)
    expect(stdout).toContain(`Follow ${guide}.\n`)
    const after = filesOf(app)
    expect(after).toMatchObject(before)
    expect(Object.keys(after).filter((path) => !(path in before))).toEqual(['.env', '.gitignore'])
    const text = readFileSync(join(ROOT, guide.split('#')[0] ?? ''), 'utf8')
    const heading = guide.split('#')[1]?.replaceAll('-', ' ') ?? ''
    expect(text).toMatch(new RegExp(`^#+ ${heading}`, 'im'))
  })

  test.for([
    { place: '.env', files: { '.env': 'DATABASE_URL=postgres://localhost/app\n' } },
    { place: 'the code', files: { 'src/db.ts': 'export const url = process.env.DATABASE_URL\n' } },
    { place: 'the schema of Prisma', files: { 'package.json': manifest({ '@prisma/client': '7' }) } },
  ])('leaves a DATABASE_URL in $place to the app', async ({ files }, { expect }) => {
    const app = createApp({ 'src/index.ts': 'export {}\n', ...files })
    expect((await init(app, '--yes')).code).toBe(0)
    const { [join('src', 'context.ts')]: context, '.env': env } = filesOf(app)
    expect(context).toContain("process.env.AUTH_DATABASE_URL ?? 'file:data/auth.db'")
    expect(context).not.toMatch(/(?<!AUTH_)DATABASE_URL/)
    expect(env).toContain(files['.env'] ?? '')
    expect((await init(app, '--yes')).stdout).toContain('Nothing to write.')
  })
})

describe('init is safe', () => {
  test.for([
    {
      change: 'a changed file',
      alter: (app: string) => writeFileSync(join(app, 'package.json'), `${manifest()}\n`),
    },
    { change: 'a new file', alter: (app: string) => writeFileSync(join(app, 'new.txt'), '') },
    { change: 'a staged file', alter: (app: string) => git(app, 'mv', '.gitignore', 'moved.txt') },
  ])('it rejects a repository with $change, unless --force', async ({ alter }, { expect }) => {
    const app = createRepository()
    alter(app)
    const before = filesOf(app)
    const failed = await init(app, '--yes')
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('uncommitted changes'),
    })
    expect(filesOf(app)).toEqual(before)
    expect((await init(app, '--yes', '--force')).code).toBe(0)
  })

  test('it rejects a repository that Git cannot read, or that tracks .env', async ({ expect }) => {
    const broken = createApp({ '.git': 'gitdir: nowhere\n' })
    expect(await init(broken, '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('git ls-files failed'),
    })
    const tracking = createRepository({ '.env': 'PORT=3000\n' })
    expect(await init(tracking, '--yes', '--force')).toMatchObject({
      code: 1,
      stderr: 'Nothing written: Git tracks .env. Run "git rm --cached .env" first.\n',
    })
    expect(filesOf(tracking)['.env']).toBe('PORT=3000\n')
  })

  test('it never overwrites a file, and then writes none', async ({ expect }) => {
    const app = createApp({ 'src/auth.config.ts': '// mine\n', 'src/auth.ts': '// mine\n' })
    const before = filesOf(app)
    const { code, stderr } = await init(app, '--yes', '--force')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `Nothing written, because "sallyport init" never overwrites a file. Move ${join('src', 'auth.config.ts')} and ${join('src', 'auth.ts')}, or follow docs/install.md.\n`,
    })
    expect(filesOf(app)).toEqual(before)
  })

  test('it rejects an app whose files are CommonJS', async ({ expect }) => {
    const files = { 'package.json': manifest({ express: '5' }).replace('"module"', '"commonjs"') }
    const app = createApp({ ...files, 'src/index.js': 'module.exports = {}\n' })
    const before = filesOf(app)
    expect(await init(app, '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('package.json has "type": "commonjs"'),
    })
    expect(filesOf(app)).toEqual(before)
  })

  test('it says that an app must be an ES module', async ({ expect }) => {
    const files = { 'package.json': manifest({ express: '5' }).replace('"type": "module",', '') }
    const { stdout } = await init(createApp({ ...files, 'src/index.ts': 'export {}\n' }), '--yes')
    expect(stdout).toContain('- Set "type": "module" in package.json')
  })

  test('it never writes through a link to a missing file', async ({ expect }) => {
    const app = createApp({ 'src/index.ts': 'export {}\n' })
    symlinkSync(join(app, 'elsewhere.ts'), join(app, 'src/auth.ts'))
    expect((await init(app, '--yes')).code).toBe(1)
    expect(existsSync(join(app, 'elsewhere.ts'))).toBe(false)
  })

  test.for([
    ['without keys', 'PORT=3000'],
    ['with blank keys', 'PORT=3000\nJWKS=\nSIGNING_KEYS='],
  ] as const)(
    '.env %s keeps its lines, and only its owner can read it',
    async ([_name, before], { expect }) => {
      const app = createApp({ 'src/index.ts': 'export {}\n', '.env': before })
      const { stdout } = await init(app, '--yes')
      const { '.env': env = '' } = filesOf(app)
      const { PORT, JWKS = '', SIGNING_KEYS = '' } = parseEnv(env)
      expect(PORT).toBe('3000')
      expect(JSON.parse(JWKS).keys).toHaveLength(1)
      expect(stdout).not.toContain(JSON.parse(SIGNING_KEYS).keys[0].jwk?.d ?? '"d"')
      expect(statSync(join(app, '.env')).mode & 0o777).toBe(0o600)
      expect((await init(app, '--yes')).stdout).not.toContain('SIGNING_KEYS')
      expect(filesOf(app)['.env']).toBe(env)
    },
  )

  test('it skips folders and broken links whose names begin with .env', async ({ expect }) => {
    const app = createApp({ 'src/index.ts': 'export {}\n', '.envs/local': 'DATABASE_URL=file:app.db\n' })
    symlinkSync(join(app, 'nowhere'), join(app, '.env.link'))
    expect((await init(app, '--yes')).code).toBe(0)
  })

  test('.env is in .gitignore before it has keys, so Git sees no secret', async ({ expect }) => {
    const app = createRepository()
    await init(app, '--yes')
    expect(filesOf(app)['.gitignore']).toBe('node_modules\n.env\ndata/*.db*\n')
    expect(git(app, 'status', '--porcelain', '-uall')).not.toContain('.env')
  })

  test.for([
    { place: 'a later line', files: { '.gitignore': '.env\ndata/\n!.env\n' }, added: '.env\n' },
    { place: 'a broader line', files: { '.gitignore': '.env*\ndata\n' }, added: '' },
    { place: 'a line with a comment above', files: { '.gitignore': '# !.env\n/.env\n*.db*\n' }, added: '' },
  ])('Git says whether .env is ignored: $place', async ({ files, added }, { expect }) => {
    const app = createRepository({ ...files, '.gitignore': `node_modules\n${files['.gitignore']}` })
    expect((await init(app, '--yes')).code).toBe(0)
    expect(filesOf(app)['.gitignore']).toBe(`node_modules\n${files['.gitignore']}${added}`)
    expect(git(app, 'status', '--porcelain', '-uall')).not.toContain('.env')
  })

  test('without a repository, a later line counts too', async ({ expect }) => {
    const app = createApp({ '.gitignore': '.env\n!.env\ndata/*.db*\n' })
    await init(app, '--yes')
    expect(filesOf(app)['.gitignore']).toBe('.env\n!.env\ndata/*.db*\n.env\n')
  })

  test('--dry-run shows every line that --yes changes, and writes nothing', async ({ expect }) => {
    const files = {
      'package.json': manifest().replace('"module"', '"commonjs"'),
      '.gitignore': 'node_modules\ndist',
    }
    const app = createApp(files)
    const before = filesOf(app)
    const { stdout } = await init(app, '--dry-run', '--yes')
    expect(filesOf(app)).toEqual(before)
    await init(app, '--yes')
    const after = filesOf(app)
    delete after['.env']
    for (const [path, text] of Object.entries(after))
      expect(shown(stdout, path)).toEqual(difference(before[path] ?? '', text))
  })

  /** Returns the lines that the output shows under a file. */
  function shown(stdout: string, path: string): string[] {
    const [, lines = ''] = stdout.split(
      new RegExp(`^(?:create|change) ${path.replaceAll(/[.\\]/g, '\\$&')}\\n`, 'm'),
    )
    return (
      lines
        .split(/\n\n(?=create|change|write)/)[0]
        ?.trimEnd()
        .split('\n') ?? []
    )
  }

  /** Returns the lines that only one of two texts has, as the output shows them. */
  function difference(before: string, after: string): string[] {
    const [old, next] = [before, after].map((text) => text.replace(/\n$/, '').split('\n'))
    const only = (lines: string[] = [], others: string[] = []) =>
      lines.filter((line) => !others.includes(line))
    const isNew = before === ''
    const added = isNew ? (next ?? []) : only(next, old)
    return [
      ...only(isNew ? [] : old, next).map((line) => `  - ${line}`),
      ...added.map((line) => `  + ${line}`),
    ]
  }

  test('without a terminal it asks for --yes, and writes nothing', async ({ expect }) => {
    const app = createApp({})
    const before = filesOf(app)
    expect(await init(app)).toMatchObject({ code: 2, stderr: expect.stringContaining('Pass --yes') })
    expect(filesOf(app)).toEqual(before)
  })

  test.skipIf(process.platform !== 'linux').for([
    { answer: 'n', meanwhile: '', prints: 'Nothing written.' },
    { answer: '', meanwhile: '', prints: 'Nothing written.' },
    { answer: 'y', meanwhile: 'dist\n', prints: 'Nothing written: .gitignore changed meanwhile.' },
    { answer: 'y', meanwhile: '', prints: 'Done.' },
  ])('in a terminal it asks: $prints', async ({ answer, meanwhile, prints }, { expect }) => {
    const app = createApp({ '.gitignore': '' })
    const before = filesOf(app)
    const terminal = spawn('script', ['-qec', `${process.execPath} ${MAIN} init`, '/dev/null'], { cwd: app })
    let printed = ''
    terminal.stdout.setEncoding('utf8').on('data', (text) => {
      const wasAsked = printed.includes('[y/N]')
      printed += text
      if (wasAsked || !printed.includes('[y/N]')) return
      writeFileSync(join(app, '.gitignore'), meanwhile)
      terminal.stdin.write(`${answer}\r`)
    })
    await once(terminal, 'close')
    expect(printed).toContain(prints)
    if (prints !== 'Done.') expect(filesOf(app)).toEqual({ ...before, '.gitignore': meanwhile })
    else expect(Object.keys(filesOf(app))).toContain('.env')
  })

  test.for([
    { lack: 'package.json', files: { 'package.json': null }, message: 'package.json not found.' },
    { lack: 'our packages', files: { 'package.json': '{}' }, message: 'Install both tarballs first' },
    { lack: 'JSON', files: { 'package.json': '{' }, message: 'package.json is not JSON.' },
  ])('it rejects a folder without $lack', async ({ files, message }, { expect }) => {
    const failed = await init(writeApp(directory, files), '--yes')
    expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) })
  })
})
