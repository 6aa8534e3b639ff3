import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installLibraries } from './install-libraries.ts'
import { writeFiles } from './write-files.ts'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))
const WORKSPACE = fileURLToPath(new URL('../../../..', import.meta.url))

/** The settings of create-next-app. */
const DEFAULTS = { cacheComponents: true, partialPrefetching: true }

/** What makes the build cheap. `pnpm test:apps` builds with the defaults, and with the type check. */
const CHEAP = {
  typescript: { ignoreBuildErrors: true },
  serverExternalPackages: ['kysely', 'zod', 'jose', 'bowser'],
  experimental: {
    turbopackFileSystemCacheForBuild: false,
    turbopackMinify: false,
    turbopackSourceMaps: false,
    turbopackInputSourceMaps: false,
    turbopackScopeHoisting: false,
  },
}

/** Writes the app into a new folder of the workspace, because Turbopack follows no links out of its root. */
export async function writeApp(): Promise<string> {
  const folder = mkdtempSync(join(PACKAGE, '.next-app-'))
  writeFiles(folder, { settings: { turbopack: { root: WORKSPACE }, ...DEFAULTS, ...CHEAP }, isEmpty: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  await installLibraries(folder)
  // Next.js checks types with the API of TypeScript, which version 7 lacks.
  symlinkSync(
    join(PACKAGE, 'node_modules/typescript-5.9'),
    join(folder, 'node_modules/typescript'),
    'junction',
  )
  return folder
}
