import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import type { Project } from './create-project.ts'
import type { Tool } from './create-tools.ts'
import { run } from './run.ts'

/** The entries that need a peer which is optional; the README of their library says which. */
const NEEDS_OPTIONAL = [
  '@sallyport/core/sqlite',
  '@sallyport/core/testing',
  '@sallyport/core/postgres',
  '@sallyport/trpc/client',
  '@sallyport/trpc/react',
]

/** Imports every entry of both libraries, each in a process of its own. */
export function importEntries(
  { folder, libraries }: Project,
  node: Tool,
  { optional }: { readonly optional: boolean },
): void {
  for (const { name, manifest } of libraries) {
    const entries = Object.keys(manifest.exports).map((entry) => entry.replace(/^\./, name))
    for (const entry of entries.filter((entry) => optional || !NEEDS_OPTIONAL.includes(entry))) {
      const script = `import * as entry from ${JSON.stringify(entry)}; console.log(Object.keys(entry).length)`
      const names = Number(run(node.path, ['--input-type=module', '-e', script], { cwd: folder }))
      assert.ok(names > 0, `${entry} exports nothing`)
    }
  }
}

/** The command, as a user starts it. */
export function checkCommand({ folder }: Project, node: Tool): void {
  const lines = sallyport(['keys', 'create'], { folder, node })
  assert.match(lines, /^JWKS=.*"kty".*^SIGNING_KEYS=.*"d":/ms)
}

/** What `sallyport generate` would write for the app is what it has. */
export function checkGenerated({ folder }: Project, node: Tool): void {
  assert.equal(sallyport(['generate', '--check'], { folder, node }), 'up to date\n')
}

/** The checks of `sallyport doctor`, of which the boundary needs rolldown. */
export function checkDoctor({ folder }: Project, node: Tool): void {
  assert.match(sallyport(['doctor'], { folder, node }), /^ok +boundary .*, \d+ with procedures\)$/m)
}

/**
 * A server and its clients over HTTP and WebSocket, from the sign-up to the revocation, on SQLite, and a session on an empty database of
 * PostgreSQL: `smoke.ts` of the app.
 */
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
