import { rolldown } from 'rolldown'

const bundles = new Map<string, Promise<string>>()

/**
 * Bundles the entry of a page and everything it imports into one script, as an app's bundler does for browsers. What it exports is the
 * value of the global `bundled`.
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
      // Each file of TanStack Query says `use client`, which is for servers.
      if (log.code !== 'MODULE_LEVEL_DIRECTIVE') print(level, log)
    },
    transform: { jsx: 'react-jsx', define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await bundle.generate({ format: 'iife', name: 'bundled', codeSplitting: false })
  await bundle.close()
  return output[0].code
}
