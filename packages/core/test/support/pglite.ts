import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/sallyport', import.meta.url))

/** Opens an empty PGlite. Creating its files takes seconds, so all processes and runs load the same. */
export async function createPglite(): Promise<PGlite> {
  const path = join(CACHE, `pglite-${versionOfPglite()}.tar`)
  if (!existsSync(path)) await saveEmpty(path)
  return PGlite.create({ loadDataDir: new Blob([readFileSync(path)]) })
}

function versionOfPglite(): string {
  const manifest = findPackageJSON('@electric-sql/pglite', import.meta.url)
  return manifest === undefined ? 'unknown' : JSON.parse(readFileSync(manifest, 'utf8')).version
}

/** The file appears at its path only when complete. */
async function saveEmpty(path: string): Promise<void> {
  const empty = await PGlite.create()
  const files = await (await empty.dumpDataDir('none')).arrayBuffer()
  await empty.close()
  mkdirSync(CACHE, { recursive: true })
  const unfinished = mkdtempSync(`${path}-`)
  writeFileSync(join(unfinished, 'files'), new Uint8Array(files))
  renameSync(join(unfinished, 'files'), path)
  rmSync(unfinished, { recursive: true })
}
