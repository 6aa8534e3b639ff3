import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Run by each library's `package`. It checks the tarball that would be published, because only packing applies
// `publishConfig` and turns `workspace:` and `catalog:` into versions.
const folder = mkdtempSync(join(tmpdir(), 'check-package-'))
process.on('exit', () => rmSync(folder, { recursive: true }))

run('pnpm', 'pack', '--pack-destination', folder)
const tarballs = readdirSync(folder).map((name) => join(folder, name))
run('publint', '--strict', ...tarballs)
run('attw', '--profile', 'esm-only', ...tarballs)

function run(command: string, ...args: string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) process.exit(1)
}
