import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install } from '../test-packages/create-project.ts'
import { packLibraries, tarballsOf } from '../test-packages/pack-libraries.ts'
import { run } from '../test-packages/run.ts'

/** The versions in the tables. */
const NAMED = [
  'better-auth',
  '@auth/core',
  '@auth/drizzle-adapter',
  'jose',
  'kysely',
  '@trpc/server',
] as const

/** The app with all peers, outside the workspace. */
export interface InstalledPeers {
  readonly folder: string
  /** `name version` of the peers. */
  readonly versions: readonly string[]
}

/** Installs the tarballs of our libraries beside the peers, and creates signing keys. */
export function installPeers(root: string): InstalledPeers {
  const folder = join(root, 'peers')
  mkdirSync(folder)
  const source = fileURLToPath(new URL('.', import.meta.url))
  const ours = tarballsOf(packLibraries(root))
  const { dependencies } = readManifest(source)
  const others = Object.keys(dependencies).filter((name) => !(name in ours))
  const theirs = others.map((name) => [name, versionOf(source, name)] as const)
  const manifest = {
    private: true,
    type: 'module',
    dependencies: { ...ours, ...Object.fromEntries(theirs) },
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2))
  install(folder)
  cpSync(join(source, 'app'), join(folder, 'app'), { recursive: true })
  run('npx', ['sallyport', 'keys', 'create', '--env', '.env', '--create'], { cwd: folder })
  return { folder, versions: NAMED.map((name) => `${name} ${versionOf(folder, name)}`) }
}

function versionOf(folder: string, name: string): string {
  return readManifest(join(folder, 'node_modules', name)).version
}

function readManifest(folder: string): { version: string; dependencies: Record<string, string> } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
