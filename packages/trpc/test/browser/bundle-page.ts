import { rolldown } from 'rolldown'

const bundles = new Map<string, Promise<string>>()

/**
 * Bundles a page's entry and its imports into one script for browsers, as an app's bundler does. The exports
 * become the global `bundled`.
 */
export function bundlePage(file: string): Promise<string> {
  const known = bundles.get(file)
  if (known !== undefined) return known
  const bundle = build(file)
  bundles.set(file, bundle)
  return bundle
}

async function build(file: string): Promise<string> {
  const bundle = await rolldown({
    input: file,
    platform: 'browser',
    onLog(level, log, print) {
      // Each file of TanStack Query has a `use client` directive, which only servers need.
      if (log.code !== 'MODULE_LEVEL_DIRECTIVE') print(level, log)
    },
    transform: { jsx: 'react-jsx', define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await bundle.generate({ format: 'iife', name: 'bundled', codeSplitting: false })
  await bundle.close()
  return output[0].code
}
