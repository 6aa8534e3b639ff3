import { type Plugin, rolldown } from 'rolldown'
import { isExternal } from './externals.ts'
import { type Outline, outlineOf } from './outline.ts'

/** The modules that an app loads, and what each of them imports when it runs. */
export interface ModuleGraph {
  /** The modules that a module imports, in the order of its source. Imports of types alone are not among them. */
  importsOf(file: string): readonly string[]
  /** The module that a specifier names in a file; null where it is none, or serves types alone. */
  resolve(source: string, file: string): string | null
  /** The outlines of the modules that belong to the app. */
  readonly outlines: ReadonlyMap<string, Outline>
}

/**
 * Reads the module graph of the bundler. Packages in `node_modules` are its leaves: none of them imports an app.
 *
 * @param options.isOwn whether a file belongs to the app, so that its names are of interest
 */
export async function readModuleGraph(
  entries: readonly string[],
  { root, isOwn }: { root: string; isOwn: (file: string) => boolean },
): Promise<ModuleGraph> {
  const imports = new Map<string, readonly string[]>()
  const resolved = new Map<string, string>()
  const outlines = new Map<string, Outline>()
  const reader: Plugin = {
    name: 'sallyport-doctor',
    async resolveId(source, importer) {
      if (importer === undefined) return null
      const found = await this.resolve(source, importer, { skipSelf: true })
      if (found !== null) resolved.set(keyOf(source, importer), found.id)
      return found
    },
    moduleParsed({ id, code, importedIds, dynamicallyImportedIds }) {
      imports.set(id, [...new Set([...importedIds, ...dynamicallyImportedIds])])
      if (code !== null && isOwn(id)) outlines.set(id, outlineOf(code, id))
    },
  }
  const bundle = await rolldown({
    cwd: root,
    input: [...entries],
    platform: 'node',
    // A type that is passed on without the word `type` has gone by then.
    shimMissingExports: true,
    treeshake: false,
    logLevel: 'silent',
    plugins: [reader],
    external: (id, _importer, isResolved) =>
      isExternal(id) || (isResolved && /[\\/]node_modules[\\/]/.test(id)),
  })
  try {
    await bundle.generate()
  } finally {
    await bundle.close()
  }
  return {
    importsOf: (file) => imports.get(file) ?? [],
    resolve: (source, file) => resolved.get(keyOf(source, file)) ?? null,
    outlines,
  }
}

function keyOf(source: string, importer: string): string {
  return `${importer}\0${source}`
}
