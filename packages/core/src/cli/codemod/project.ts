import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { messageOf } from '../errors.ts'
import { readIfExists } from '../init/changes.ts'
import { filesIn, SOURCE } from '../init/detect.ts'
import { keyOf, type Node, nameOf, nodesIn } from './nodes.ts'
import { scopeOf } from './scopes.ts'
import { type Found, parseProgram, type Source } from './source.ts'

/** The source files of a folder. */
export interface Project {
  /** The files that may have something to do with tRPC. */
  readonly sources: readonly Source[]
  /** By path, why a file can't be read. */
  readonly failed: ReadonlyMap<string, string>
}

const RELEVANT = /ctx|TRPC|[Pp]rocedure|Context/
/** Files may re-export each other in a circle. */
const MAX_FILES = 20

export function readProject(folder: string): Project {
  const paths = [...filesIn(folder)]
  const failed = new Map<string, string>()
  const files = new Map<string, Source | null>()
  const known = new Map(paths.filter((path) => SOURCE.test(path)).map((path) => [resolve(path), path]))
  const candidatesOf = createResolver(paths)

  function load(file: string): Source | null {
    const path = known.get(file)
    if (path === undefined) return null
    const source = files.get(file) ?? parse(path)
    files.set(file, source)
    return source
  }

  function parse(path: string): Source | null {
    try {
      const text = readIfExists(path) ?? ''
      const program = parseProgram(path, text)
      const bindingAt = scopeOf(program)
      const source: Source = { path, text, program, bindingAt, find: (name, at) => find(source, name, at) }
      return source
    } catch (error) {
      failed.set(path, messageOf(error))
      return null
    }
  }

  function find(source: Source, name: string, at: Node, left: number = MAX_FILES): Found | null {
    const binding = source.bindingAt(name, at)
    if (binding?.kind !== 'import') return binding && { source, binding }
    return imported(source, binding.from, { name: binding.imported, left }) ?? { source, binding }
  }

  interface Wanted {
    readonly name: string
    readonly left: number
  }

  /** Returns the declaration behind an export of another file. Null outside the folder. */
  function imported(source: Source, from: string, { name, left }: Wanted): Found | null {
    const file = candidatesOf(source.path, from).find((path) => known.has(path))
    const target = file === undefined || left === 0 ? null : load(file)
    return target && exported(target, { name, left: left - 1 })
  }

  function exported(target: Source, { name, left }: Wanted): Found | null {
    for (const node of target.program.body) {
      if (node.type === 'ExportDefaultDeclaration' && name === 'default')
        return { source: target, binding: { kind: 'value', init: node.declaration, keys: [] } }
      const specifier =
        node.type === 'ExportNamedDeclaration' &&
        node.specifiers.find(({ exported: given }) => nameOf(given) === name)
      if (!specifier) continue
      const local = nameOf(specifier.local)
      if (node.source === null) return find(target, local, node, left)
      return imported(target, node.source.value, { name: local, left })
    }
    // It exports a declaration, or all of another file.
    const own = target.bindingAt(name, target.program)
    if (own !== null) return own.kind === 'import' ? null : { source: target, binding: own }
    for (const node of target.program.body) {
      if (node.type !== 'ExportAllDeclaration' || node.exported !== null) continue
      const found = imported(target, node.source.value, { name, left })
      if (found !== null) return found
    }
    return null
  }

  const sources = [...known].flatMap(([file, path]) =>
    RELEVANT.test(readFileSync(path, 'utf8')) ? (load(file) ?? []) : [],
  )
  return { sources, failed }
}

/** Returns which files an import may mean: relative, by an alias, or in the workspace. */
function createResolver(paths: readonly string[]): (from: string, specifier: string) => string[] {
  const packages = paths.filter((path) => basename(path) === 'package.json').map(readPackage)

  return (from, specifier) => {
    if (specifier.startsWith('.')) return candidates(resolve(dirname(from), specifier))
    const aliased = aliasesOf(from).flatMap(([pattern, target]) => {
      const [start = '', end] = pattern.split('*')
      if (end === undefined) return pattern === specifier ? [target] : []
      return specifier.startsWith(start) ? [target.replace('*', specifier.slice(start.length))] : []
    })
    const own = packages.flatMap(({ name, folder }) => {
      if (specifier === name) return [join(folder, 'src/index'), join(folder, 'index')]
      const path = specifier.startsWith(`${name}/`) ? specifier.slice(name.length + 1) : null
      return path === null ? [] : [join(folder, 'src', path), join(folder, path)]
    })
    return [...aliased, ...own].flatMap((path) => candidates(resolve(path)))
  }
}

function readPackage(path: string): { name: string; folder: string } {
  const name = /"name"\s*:\s*"([^"]+)"/.exec(readFileSync(path, 'utf8'))?.[1] ?? ''
  return { name, folder: dirname(path) }
}

const EXTENSIONS = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs']

function candidates(path: string): string[] {
  const bare = path.replace(/\.([cm]?)jsx?$/, '')
  return [path, join(path, 'index'), bare].flatMap((name) => EXTENSIONS.map((extension) => name + extension))
}

/** Returns the aliases of the nearest tsconfig.json. It's parsed as code, because it may have comments. */
function aliasesOf(from: string, folder: string = dirname(resolve(from))): [string, string][] {
  const path = join(folder, 'tsconfig.json')
  if (!existsSync(path)) return dirname(folder) === folder ? [] : aliasesOf(from, dirname(folder))
  const program = parseProgram(`${path}.ts`, `export default ${readFileSync(path, 'utf8')}`)
  const aliases: [string, string][] = []
  for (const node of nodesIn(program)) {
    if (node.type !== 'Property' || keyOf(node) !== 'paths' || node.value.type !== 'ObjectExpression')
      continue
    for (const property of node.value.properties) {
      if (property.type !== 'Property' || property.value.type !== 'ArrayExpression') continue
      const [target] = property.value.elements
      const key = keyOf(property)
      if (key !== null && target?.type === 'Literal' && typeof target.value === 'string')
        aliases.push([key, join(folder, target.value)])
    }
  }
  return aliases
}
