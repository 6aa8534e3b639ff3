import { relative } from 'node:path'
import { type ModuleGraph, readModuleGraph } from './module-graph.ts'

/** Real paths; null if the app has no such module. */
export interface AppModules {
  readonly root: string
  /** Starts the server, and may import anything. */
  readonly entry: string | null
  /** Exports the builders that every procedure module imports. */
  readonly procedures: string
  /** Exports the action builder. */
  readonly action: string | null
  /** Exports `getAuth`. */
  readonly runtime: string | null
  /** Exports the auth definition. */
  readonly auth: string
}

const FIXES = {
  'shared-module':
    'Every procedure module imports the first file, so all of them carry the auth definition. Use getSession(ctx) there. Build what needs getAuth(ctx) in the module of the action builder.',
  'other-builder':
    'Procedure modules import the first file for its builders. Only the action builder may import getAuth: move the builders to its module, or remove getAuth from them.',
  'procedure-module':
    'A procedure module that needs getAuth must import it itself, or use the action builder. Remove getAuth from the second file, and pass it what getAuth(ctx) returned.',
  'definition-import':
    'Only the module that exports getAuth may import the auth definition. Use getAuth(ctx), or import the type only.',
} as const

/** A forbidden path from a module to the auth definition. */
export interface Violation {
  readonly rule: keyof typeof FIXES
  /** The imports from the module to the auth definition, relative to the app. */
  readonly chain: readonly string[]
  readonly fix: string
}

export interface Boundary {
  readonly modules: number
  readonly procedureModules: number
  readonly violations: readonly Violation[]
}

/** Checks that no module carries the auth definition unless its own imports say so (spec section 1). */
export async function checkBoundary(app: AppModules): Promise<Boundary> {
  const { root, entry, procedures, action, runtime, auth } = app
  const graph = await readModuleGraph(present([entry, procedures, action]), root)
  const named = new Set(present([procedures, action]))
  const heavy = new Set(present([auth, runtime]))
  const { procedureModules, builders } = sortModules(graph, {
    named,
    exempt: new Set([...heavy, ...present([entry])]),
  })
  // A path through one of these is reported there.
  const checked = new Set([procedures, ...builders, ...procedureModules])
  const violations: Violation[] = []

  function forbid(rule: Violation['rule'], from: string, options = { to: heavy, around: checked }): void {
    const chain = findPath(graph, from, options)
    if (chain === null) return
    const files = chain.map((file) => relative(root, file).replaceAll('\\', '/'))
    violations.push({ rule, chain: files, fix: FIXES[rule] })
  }

  const mayCarry = (file: string) =>
    importsOf(graph, file).some((imported) => imported === runtime || imported === action)
  forbid('shared-module', procedures, { to: heavy, around: new Set() })
  for (const file of builders) forbid('other-builder', file)
  for (const file of procedureModules) if (!mayCarry(file)) forbid('procedure-module', file)
  const gate = new Set([...checked, ...named, ...heavy])
  for (const file of [...procedureModules.filter(mayCarry), ...present([action])])
    forbid('definition-import', file, { to: new Set([auth]), around: gate })

  return {
    modules: graph.size,
    procedureModules: procedureModules.length,
    violations: violations.sort((a, b) => (a.chain.join('\n') < b.chain.join('\n') ? -1 : 1)),
  }
}

/** Finds the modules that make procedures, and the builders: the modules between those and the named ones. */
function sortModules(
  graph: ModuleGraph,
  { named, exempt }: { named: ReadonlySet<string>; exempt: ReadonlySet<string> },
): { procedureModules: string[]; builders: string[] } {
  const others = [...graph].filter(([file]) => !named.has(file) && !exempt.has(file))
  const sources = new Set([
    ...named,
    ...others.filter(([, { makesBuilders }]) => makesBuilders).map(([file]) => file),
  ])
  // Other modules have `.query()` too, such as a database client.
  const makers = others.filter(([, { makesProcedures }]) => makesProcedures).map(([file]) => file)
  const around = new Set([...makers, ...exempt])
  const hasBuilder = (file: string) => findPath(graph, file, { to: sources, around }) !== null
  const procedureModules = makers.filter(hasBuilder)
  const isUsed = (file: string) =>
    procedureModules.some((maker) => findPath(graph, maker, { to: new Set([file]), around }) !== null)
  const rest = others.map(([file]) => file).filter((file) => !makers.includes(file))
  return { procedureModules, builders: rest.filter((file) => hasBuilder(file) && isUsed(file)) }
}

/** Returns the shortest path of imports that avoids `around`, both ends included, or null. */
function findPath(
  graph: ModuleGraph,
  from: string,
  { to, around }: { to: ReadonlySet<string>; around: ReadonlySet<string> },
): string[] | null {
  // Iterating a map includes what is added on the way, so this is breadth first.
  const paths = new Map([[from, [from]]])
  for (const [file, path] of paths) {
    if (to.has(file)) return path
    if (file !== from && around.has(file)) continue
    for (const imported of importsOf(graph, file))
      if (!paths.has(imported)) paths.set(imported, [...path, imported])
  }
  return null
}

function importsOf(graph: ModuleGraph, file: string): readonly string[] {
  return graph.get(file)?.imports ?? []
}

function present(files: readonly (string | null)[]): string[] {
  return files.filter((file) => file !== null)
}
