import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigurationError } from '../../protocol/errors.ts'
import { readIfExists } from './changes.ts'

const FRAMEWORKS = [
  ['next', 'Next.js'],
  ['@tanstack/react-start', 'TanStack Start'],
  ['@react-router/dev', 'React Router'],
  ['@sveltejs/kit', 'SvelteKit'],
  ['nuxt', 'Nuxt'],
  ['hono', 'Hono'],
  ['express', 'Express'],
  ['fastify', 'Fastify'],
  ['vite', 'Vite'],
] as const

const DATABASE_TOOLS = [
  ['drizzle-orm', 'Drizzle'],
  ['@prisma/client', 'Prisma'],
  ['kysely', 'Kysely'],
] as const

/** By lockfile, how to add packages. */
const PACKAGE_MANAGERS = [
  ['pnpm-lock.yaml', 'pnpm add'],
  ['yarn.lock', 'yarn add'],
  ['bun.lock', 'bun add'],
  ['bun.lockb', 'bun add'],
] as const

export type Framework = (typeof FRAMEWORKS)[number][1]

/** What the app in the working directory has. */
export interface DetectedApp {
  readonly manifest: string
  readonly packages: ReadonlySet<string>
  /** Null for plain Node. */
  readonly framework: Framework | null
  readonly databaseTool: (typeof DATABASE_TOOLS)[number][1] | null
  readonly addPackages: string
  /** Where its sources are: `src` or `.`. */
  readonly folder: string
  /** True if it has no source files yet, and no other framework than Hono. */
  readonly isNew: boolean
  /** True if the app has its own `DATABASE_URL`. */
  readonly usesDatabaseUrl: boolean
}

/** @throws ConfigurationError without a package.json that is valid */
export function detectApp(): DetectedApp {
  const manifest = readIfExists('package.json')
  if (manifest === null)
    throw new ConfigurationError(
      'package.json not found. Run this in the folder of the app, or "npm init -y" first.',
    )
  const { dependencies, devDependencies } = parseManifest(manifest)
  const packages = new Set(Object.keys({ ...dependencies, ...devDependencies }))
  const sources = [...filesIn('.')].filter((path) => SOURCE.test(path))
  const databaseTool = DATABASE_TOOLS.find(([name]) => packages.has(name))?.[1] ?? null
  const framework = FRAMEWORKS.find(([name]) => packages.has(name))?.[1] ?? null
  const isEmpty = sources.every((path) => path.includes('.config.'))
  const envFiles = readdirSync('.').filter((name) => name.startsWith('.env') && isFile(name))
  return {
    manifest,
    packages,
    framework,
    databaseTool,
    addPackages: PACKAGE_MANAGERS.find(([lockfile]) => isAbove(lockfile))?.[1] ?? 'npm i',
    folder: existsSync('src') || isEmpty ? 'src' : '.',
    isNew: isEmpty && (framework === null || framework === 'Hono'),
    // Its schema reads the variable, and isn't among the sources.
    usesDatabaseUrl: databaseTool === 'Prisma' || [...envFiles, ...sources].some(usesUrl),
  }
}

function parseManifest(text: string): { dependencies?: object; devDependencies?: object } {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ConfigurationError('package.json is not JSON. Correct it first.', { cause })
  }
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

function usesUrl(path: string): boolean {
  const text = readFileSync(path, 'utf8').replace('openSqlite(process.env.DATABASE_URL', '')
  return /(?<!AUTH_)DATABASE_URL/.test(text)
}

export const SOURCE: RegExp = /\.[cm]?[jt]sx?$/
const NOT_SOURCES = new Set(['node_modules', 'dist', 'build', 'coverage'])

export function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    const isOther = entry.name.startsWith('.') || NOT_SOURCES.has(entry.name)
    if (entry.isDirectory() && !isOther) yield* filesIn(path)
    else if (entry.isFile() && !isOther) yield path
  }
}

/** Returns whether this folder or one above has a file: a workspace has one lockfile. */
export function isAbove(name: string, folder: string = resolve('.')): boolean {
  if (existsSync(join(folder, name))) return true
  return dirname(folder) !== folder && isAbove(name, dirname(folder))
}
