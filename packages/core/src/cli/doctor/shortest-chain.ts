import type { ModuleGraph } from './module-graph.ts'

/**
 * The shortest way from a module to one of others by imports, both ends included; null where there is none. Of two that are as short it
 * is the one whose imports stand first.
 *
 * @param options.around modules that the way must not pass
 */
export function shortestChain(
  from: string,
  to: ReadonlySet<string>,
  { graph, around = new Set() }: { graph: ModuleGraph; around?: ReadonlySet<string> },
): readonly string[] | null {
  const cameFrom = new Map<string, string | null>([[from, null]])
  for (const file of cameFrom.keys()) {
    if (to.has(file)) return chainTo(file, cameFrom)
    if (file !== from && around.has(file)) continue
    // A map is walked in the order of its insertions, those made meanwhile included.
    for (const imported of graph.importsOf(file)) {
      if (!cameFrom.has(imported)) cameFrom.set(imported, file)
    }
  }
  return null
}

function chainTo(file: string, cameFrom: ReadonlyMap<string, string | null>): string[] {
  const importer = cameFrom.get(file) ?? null
  return importer === null ? [file] : [...chainTo(importer, cameFrom), file]
}
