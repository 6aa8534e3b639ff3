import { rolldown } from 'rolldown'

interface ModuleNode {
  /** The modules it imports at run time, dynamic imports included. */
  readonly imports: readonly string[]
  /** True if its source calls `.query()`, `.mutation()`, or `.subscription()`. */
  readonly makesProcedures: boolean
  /** True if its source names `initTRPC` or `createAuthedAction`. */
  readonly makesBuilders: boolean
}

/** The modules of an app by their paths. */
export type ModuleGraph = ReadonlyMap<string, ModuleNode>

const SOURCE = /\.[cm]?[jt]sx?$/
const INSTALLED = /[\\/]node_modules[\\/]/
/** No package has such a name, so it is an alias that wasn't resolved. */
const ALIAS = /^([~#$]|@\/)/
const BUILDER = /\b(initTRPC|createAuthedAction)\b/
const PROCEDURE = /\.\s*(query|mutation|subscription)\s*[(<]/

/** Reads the module graph of an app, resolved as a bundler does and without types and installed packages. */
export async function readModuleGraph(entries: readonly string[], root: string): Promise<ModuleGraph> {
  const graph = new Map<string, ModuleNode>()
  const bundle = await rolldown({
    cwd: root,
    input: [...entries],
    platform: 'node',
    // An app may re-export a type without the word `type`.
    shimMissingExports: true,
    treeshake: false,
    logLevel: 'silent',
    external: (id, _importer, isResolved) => isResolved && (INSTALLED.test(id) || !SOURCE.test(id)),
    plugins: [
      {
        name: 'sallyport-doctor',
        moduleParsed({ id, code, importedIds, dynamicallyImportedIds }) {
          const imports = [...importedIds, ...dynamicallyImportedIds]
          const unresolved = imports.find((imported) => ALIAS.test(imported))
          if (unresolved !== undefined)
            throw new Error(
              `${id} imports ${unresolved}, which can't be resolved. Check "paths" in tsconfig.json.`,
            )
          graph.set(id, {
            imports,
            makesProcedures: PROCEDURE.test(code ?? ''),
            makesBuilders: BUILDER.test(code ?? ''),
          })
        },
      },
    ],
  })
  try {
    await bundle.generate()
  } finally {
    await bundle.close()
  }
  return graph
}
