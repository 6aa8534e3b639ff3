import { readFileSync } from 'node:fs'

/** One import or re-export of a module. */
export interface Import {
  readonly specifier: string
  /** Erased by the compiler: loads nothing. */
  readonly isTypeOnly: boolean
}

const STATEMENT = /^(?:import|export)\s(type\s)?(?:[^'"]*?\sfrom\s)?'([^']+)'|\bimport\('([^']+)'\)/gm

/** What a module imports, by `import`, by `export ... from` and by `import()`. */
export function importsOf(file: URL): Import[] {
  return [...readFileSync(file, 'utf8').matchAll(STATEMENT)].map(([, type, specifier, dynamic]) => ({
    specifier: specifier ?? dynamic ?? '',
    isTypeOnly: type !== undefined,
  }))
}

/** The module itself and all that it reaches by relative imports, those of types included. */
export function reachableFrom(file: URL, reached: Map<string, URL> = new Map()): URL[] {
  if (reached.has(file.href)) return []
  reached.set(file.href, file)
  for (const { specifier } of importsOf(file))
    if (specifier.startsWith('.')) reachableFrom(new URL(specifier, file), reached)
  return [...reached.values()]
}
