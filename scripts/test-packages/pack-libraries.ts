import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.ts'

/** A library as it would be published. */
export interface Library {
  readonly name: string
  readonly tarball: string
  readonly manifest: Manifest
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly engines: { readonly node: string }
  readonly exports: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
}

/** Returns the tarballs as dependencies of a package.json. */
export function tarballsOf(libraries: readonly Library[]): Record<string, string> {
  return Object.fromEntries(libraries.map(({ name, tarball }) => [name, `file:${tarball}`]))
}

/** Builds and packs both libraries. */
export function packLibraries(folder: string): Library[] {
  return ['core', 'trpc'].map((name) => {
    const cwd = fileURLToPath(new URL(`../../packages/${name}`, import.meta.url))
    const tarball = join(folder, `${name}.tgz`)
    run('pnpm', ['pack', '--out', tarball], { cwd })
    const manifest: Manifest = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8'))
    return { name: manifest.name, tarball, manifest }
  })
}
