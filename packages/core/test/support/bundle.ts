import { type OutputChunk, rolldown } from 'rolldown'

/** A module and everything it imports in one script, as an app's bundler builds it for the edge. */
export interface Bundle {
  readonly code: string
  /** The modules left outside the bundle, such as `node:*`. Code for the edge must have none. */
  readonly imports: readonly string[]
  /** The files that contribute code, largest first. */
  readonly files: readonly string[]
}

/** Bundles a file. Its exports are in the global `bundled` once the code has run. */
export async function bundle(file: string, { minify = false } = {}): Promise<Bundle> {
  const build = await rolldown({
    input: file,
    platform: 'neutral',
    // For packages without `exports`.
    resolve: { mainFields: ['module', 'main'] },
    // Modules that can't be resolved, or are external, are in `imports`.
    onLog: () => {},
  })
  const { output } = await build.generate({
    format: 'iife',
    name: 'bundled',
    minify,
    codeSplitting: false,
  })
  await build.close()
  const [{ code, imports, modules }] = output
  return { code, imports, files: byLength(modules) }
}

function byLength(modules: OutputChunk['modules']): string[] {
  const lengths = Object.entries(modules).map(([file, { renderedLength }]) => ({ file, renderedLength }))
  const rendered = lengths.filter(({ renderedLength }) => renderedLength > 0)
  return rendered.sort((a, b) => b.renderedLength - a.renderedLength).map(({ file }) => file)
}
