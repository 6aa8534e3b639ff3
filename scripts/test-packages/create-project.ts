import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Library, tarballsOf } from './pack-libraries.ts'
import { run } from './run.ts'

/** A project outside the workspace with both libraries installed. */
export interface Project {
  readonly folder: string
  readonly libraries: readonly Library[]
  /** The versions of its direct dependencies, by name. */
  installed(): Record<string, string>
}

const APP = fileURLToPath(new URL('../../packages/trpc/test/types/installed', import.meta.url))

/** The adapter for TanStack Query names one version of tRPC: see docs/react.md. */
export const OVERRIDES = {
  '@trpc/tanstack-react-query': { '@trpc/client': '$@trpc/client', '@trpc/server': '$@trpc/server' },
} as const

/** Better Auth works with version 13, but before 1.7.5 its peer is version 12. */
const BETTER_AUTH_OVERRIDES = { 'better-auth': { 'better-sqlite3': '$better-sqlite3' } } as const

/** Creates a project with the app of the test, and installs the tarballs with npm. */
export function createProject(
  folder: string,
  libraries: readonly Library[],
  dependencies: Readonly<Record<string, string>>,
): Project {
  const manifest = {
    private: true,
    type: 'module',
    dependencies: { ...tarballsOf(libraries), ...dependencies },
    ...('@trpc/tanstack-react-query' in dependencies && {
      overrides: { ...OVERRIDES, ...BETTER_AUTH_OVERRIDES },
    }),
  }
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2))
  cpSync(APP, join(folder, 'src'), { recursive: true })
  install(folder)
  return {
    folder,
    libraries,
    installed: () =>
      Object.fromEntries(Object.keys(manifest.dependencies).map((name) => [name, versionOf(folder, name)])),
  }
}

/** Installs the dependencies of package.json with npm, outside any workspace. */
export function install(folder: string): void {
  run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'], { cwd: folder })
}

function versionOf(folder: string, name: string): string {
  const path = join(folder, 'node_modules', name, 'package.json')
  const manifest: { version: string } = JSON.parse(readFileSync(path, 'utf8'))
  return manifest.version
}
