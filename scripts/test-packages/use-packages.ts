import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import type { Project } from './create-project.ts'
import type { Tool } from './create-tools.ts'
import { run } from './run.ts'

/** The entries that import an optional peer. Others load one at its first use, such as a database driver. */
const NEEDS_OPTIONAL = [
  '@sallyport/core/plugins/oauth',
  '@sallyport/core/plugins/open-telemetry',
  '@sallyport/core/plugins/passkeys',
  '@sallyport/core/plugins/totp',
  '@sallyport/trpc/better-auth',
  '@sallyport/trpc/client',
  '@sallyport/trpc/next',
  '@sallyport/trpc/react',
]

/**
 * Imports every entry of both libraries, each in a separate process. Without the optional peers, checks that
 * only the entries that need one fail.
 */
export function importEntries(
  { folder, libraries }: Project,
  node: Tool,
  { optional }: { readonly optional: boolean },
): void {
  for (const { name, manifest } of libraries) {
    const entries = Object.keys(manifest.exports).map((entry) => entry.replace(/^\./, name))
    for (const entry of entries) {
      const script = `import * as entry from ${JSON.stringify(entry)}; console.log(Object.keys(entry).length)`
      const names = () => Number(run(node.path, ['--input-type=module', '-e', script], { cwd: folder }))
      if (optional || !NEEDS_OPTIONAL.includes(entry)) assert.ok(names() > 0, `${entry} exports nothing`)
      else assert.throws(names, /ERR_MODULE_NOT_FOUND/, `${entry} needs no optional peer`)
    }
  }
}

/** Runs the command as a user would. */
export function checkCommand({ folder }: Project, node: Tool): void {
  const lines = sallyport(['keys', 'create'], { folder, node })
  assert.match(lines, /^JWKS=.*"kty".*^SIGNING_KEYS=.*"d":/ms)
}

/** Checks that the generated file of the app is up to date. */
export function checkGenerated({ folder }: Project, node: Tool): void {
  assert.equal(sallyport(['generate', '--check'], { folder, node }), 'up to date\n')
}

/** Runs the checks of `sallyport doctor`. The boundary check needs rolldown. */
export function checkDoctor({ folder }: Project, node: Tool): void {
  assert.match(sallyport(['doctor'], { folder, node }), /^ok +boundary .*, \d+ with procedures\)$/m)
}

/** Runs `smoke.ts` of the app: a server and its clients on SQLite, and a session on an empty PostgreSQL. */
export function runSmoke(
  { folder }: Project,
  node: Tool,
  { postgresUrl }: { readonly postgresUrl: string },
): void {
  run(node.path, ['out/smoke.js', postgresUrl], { cwd: folder })
}

function sallyport(args: readonly string[], { folder, node }: { folder: string; node: Tool }): string {
  return run('npx', ['--no-install', 'sallyport', ...args], { cwd: folder, path: dirname(node.path) })
}
