import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Block, type Document, ROOT } from './read-documents.ts'

/** Blocks that ask a running example. `example/test/documents.test.ts` runs them. */
export const asksExample = ({ language, code }: Block): boolean =>
  (language === 'sh' && /\bcurl\b/.test(code)) ||
  (language === 'console' && code.includes('@sallyport/example'))

/** The commands of a block, each on one line and without its comment. */
const commandsOf = (code: string): string[] =>
  code
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(^|\s)# .*$/, '').trim())
    .filter(Boolean)

const manifests = globSync(['package.json', 'packages/*/package.json'], { cwd: ROOT }).map(
  (path): Manifest => JSON.parse(readFileSync(join(ROOT, path), 'utf8')),
)

interface Manifest {
  readonly name: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: object
  readonly devDependencies?: object
  readonly peerDependencies?: object
}

const packages = new Set(
  manifests.flatMap(({ name, ...manifest }) => [
    name,
    ...Object.keys({
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.peerDependencies,
    }),
  ]),
)

/** Returns the programs, scripts, packages, and files in the commands of a block that don't exist. */
export function checkShell({ code }: Block, document: Document): string[] {
  return commandsOf(code)
    .flatMap((line) => line.split(' && '))
    .flatMap((command) => checkCommand(command, document))
}

function checkCommand(command: string, document: Document): string[] {
  // Variables for the command.
  const words = command.split(/\s+/)
  while (/^[A-Z_]+=/.test(words[0] ?? '')) words.shift()
  const [program = '', ...args] = words
  const rest = args.filter((word) => !word.startsWith('-'))
  if (program === 'npm' && rest[0] === 'i') return rest.slice(1).flatMap(checkPackage)
  if (program === 'node') return rest.flatMap((file) => checkFile(file, document))
  if (program === 'npx' && rest[0] === 'pnpm') return checkPnpm(args.slice(args.indexOf('pnpm') + 1))
  if (program === 'npx' && rest[0] === 'sallyport') return checkSallyport(rest.slice(1))
  if (program === 'npx') return checkPackage(rest[0] ?? '')
  return [`the command "${command}" has no check`]
}

/** A name, or one of our tarballs. */
const checkPackage = (name: string) =>
  packages.has(name.replace(/^\/tmp\/sallyport-(core|trpc)-\d+\.\d+\.\d+\.tgz$/, '@sallyport/$1'))
    ? []
    : [`the workspace has no package "${name}"`]

/** A block of the page or of the README, or a file in the folder of a package. */
function checkFile(file: string, { blocks }: Document): string[] {
  const name = file.replace(/^(src|dist\/server)\//, '').replace(/\.[jt]sx?$/, '')
  const isThere =
    blocks.some((block) => block.name?.replace(/\.tsx?$/, '') === name) ||
    readmeNames().has(name) ||
    globSync(['.', 'packages/*'], { cwd: ROOT }).some((folder) => existsSync(join(ROOT, folder, file)))
  return isThere ? [] : [`there is no file "${file}"`]
}

const readmeNames = () =>
  new Set(
    Array.from(
      readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/^\/\/ ([\w.-]+)\.ts/gm),
      ([, name]) => name,
    ),
  )

/** Commands of pnpm itself. */
const PNPM_COMMANDS = ['install', 'pack']

function checkPnpm(args: readonly string[]): string[] {
  const isValue = (i: number) => ['--filter', '--pack-destination'].includes(args[i - 1] ?? '')
  const names = args.filter((_word, i) => args[i - 1] === '--filter')
  const [script = '', ...rest] = args.filter((word, i) => !word.startsWith('-') && !isValue(i))
  if (script === 'exec' && rest[0] === 'sallyport') return checkSallyport(rest.slice(1))
  if (script === 'exec') return checkPackage(rest[0] ?? '')
  const missing = rest.filter((path) => path.includes('/') && !existsSync(join(ROOT, path)))
  const faults = (names.length === 0 ? ['sallyport'] : names).flatMap((name) => {
    const manifest = manifests.find((manifest) => manifest.name === name)
    if (manifest === undefined) return [`there is no package "${name}" in the workspace`]
    const isThere = PNPM_COMMANDS.includes(script) || script in (manifest.scripts ?? {})
    return isThere ? [] : [`"${name}" has no script "${script}"`]
  })
  return [...faults, ...missing.map((path) => `there is no file "${path}"`)]
}

/** Looks for the words in the source, because starting the command line takes a second. */
function checkSallyport([command = '', subcommand]: readonly string[]): string[] {
  const file = join(ROOT, 'packages/core/src/cli', `${command}.ts`)
  if (!existsSync(file)) return [`there is no command "sallyport ${command}"`]
  if (subcommand === undefined || command !== 'keys') return []
  const isThere = new RegExp(`add\\(\\s*'${subcommand}`).test(readFileSync(file, 'utf8'))
  return isThere ? [] : [`there is no command "sallyport ${command} ${subcommand}"`]
}
