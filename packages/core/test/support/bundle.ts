import { type OutputChunk, rolldown } from 'rolldown'

/** A module and everything it imports in one script, as an app's bundler makes it for the edge. */
export interface Bundle {
  readonly code: string
  /** What the bundler left outside, such as `node:*`: nothing that runs on the edge may. */
  readonly imports: readonly string[]
  /** The files that contribute code, the one with most of it first. */
  readonly files: readonly string[]
}

/** Bundles a file; its exports are the value of the global `bundled` once the code has run. */
export async function bundle(file: string, { minify = false } = {}): Promise<Bundle> {
  const build = await rolldown({
    input: file,
    platform: 'neutral',
    // Of packages that have no `exports`.
    resolve: { mainFields: ['module', 'main'] },
    // What cannot be resolved, or stays outside, is in `imports`.
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
