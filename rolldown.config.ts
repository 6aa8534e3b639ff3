import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { isAbsolute } from 'node:path'
import { defineConfig } from 'rolldown'

/** What a library's package.json says about its entries: source in the workspace, dist once published. */
type Manifest = {
  name: string
  exports: Record<string, string>
  bin?: Record<string, string>
  publishConfig: { exports: Record<string, string>; bin?: Record<string, string> }
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

// Run by each library's `build`, so the working directory is the library's folder.
const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'))

export default defineConfig({
  input: entries(manifest),
  platform: 'neutral',
  external: isExternal,
  transform: { target: 'es2024' },
  output: {
    dir: 'dist',
    cleanDir: true,
    chunkFileNames: 'chunks/[name]-[hash].js',
    // For frameworks that render components on the server unless told otherwise.
    banner: ({ name }) => (name === 'react' ? "'use client'" : ''),
  },
})

/** One bundle for each subpath export and bin, named as in `publishConfig`, and for client components. */
function entries({ exports, bin, publishConfig }: Manifest): Record<string, string> {
  const sources = { ...exports, ...bin }
  const outputs = { ...publishConfig.exports, ...publishConfig.bin }
  const bundles = Object.entries(sources).map(([entry, source]) => {
    const output = outputs[entry]
    if (!output) throw new Error(`${manifest.name}: publishConfig has nothing for "${entry}"`)
    return [output.replace(/^\.\/dist\/|\.js$/g, ''), source]
  })
  // The entry `next` runs on the server. Its client component needs its own file, with the directive.
  return Object.fromEntries(
    './next' in exports ? [...bundles, ['hydrated', './src/next/hydrated.ts']] : bundles,
  )
}

/** Bundles only own files and the compiler's helpers, and throws if package.json lacks a dependency. */
function isExternal(id: string): boolean {
  if (id.startsWith('.') || isAbsolute(id) || id.startsWith('@oxc-project/runtime/')) return false
  const dependencies = { ...manifest.dependencies, ...manifest.peerDependencies }
  const [packageName] = /^(@[^/]+\/)?[^/]+/.exec(id) ?? [id]
  if (isBuiltin(id) || packageName in dependencies) return true
  throw new Error(`${id} is no dependency of ${manifest.name}`)
}
