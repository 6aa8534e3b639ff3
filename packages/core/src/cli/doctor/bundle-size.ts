import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { isExternal } from './externals.ts'

/** What a module weighs together with everything it imports, in bytes. */
export interface BundleSize {
  readonly minified: number
  readonly gzipped: number
}

/** Bundles a module alone, with its packages but without Node and native drivers, and measures the result. */
export async function bundleSize(file: string, root: string): Promise<BundleSize> {
  const bundle = await rolldown({
    cwd: root,
    input: file,
    platform: 'node',
    // A type that is passed on without the word `type` has gone by then.
    shimMissingExports: true,
    logLevel: 'silent',
    external: (id) => isExternal(id),
  })
  try {
    const { output } = await bundle.generate({ minify: true, comments: false, codeSplitting: false })
    const code = output.map((part) => (part.type === 'chunk' ? part.code : '')).join('')
    return { minified: Buffer.byteLength(code), gzipped: gzipSync(code, { level: 9 }).length }
  } finally {
    await bundle.close()
  }
}
