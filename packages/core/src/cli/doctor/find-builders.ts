import type { ModuleGraph } from './module-graph.ts'
import type { Binding, Expression, Outline } from './outline.ts'

/** Which modules make procedure builders, and which make procedures with them. */
export interface Builders {
  /** Modules that export a builder, such as `adminProcedure`; also those that pass one on. */
  readonly builderModules: ReadonlySet<string>
  /** Modules that import a builder and export none. */
  readonly procedureModules: ReadonlySet<string>
}

/** Methods of a builder that return a builder. */
const CHAIN = new Set(['use', 'input', 'output', 'meta', 'concat', 'unstable_concat'])
/** Members of tRPC's root object and of a router that are no builders. */
const NO_BUILDERS = new Set([
  'router',
  'mergeRouters',
  'createCallerFactory',
  'createCaller',
  'middleware',
  '_config',
])

/**
 * Finds the builders of an app by their names: `t.procedure`, `builder.use(...)`, `createAuthedAction(...)`, a function that returns one,
 * and whatever is imported from where one is exported.
 *
 * @param declared modules whose exports count as builders, however they are made
 */
export function findBuilders({ outlines, resolve }: ModuleGraph, declared: ReadonlySet<string>): Builders {
  const known = new Map<string, boolean>()

  function exportsBuilder(file: string, name: string): boolean {
    const key = `${file}\0${name}`
    const found = known.get(key)
    if (found !== undefined) return found
    // An answer for those that come back here in a circle.
    known.set(key, false)
    const outline = outlines.get(file)
    const isBuilder = outline !== undefined && exportIsBuilder(file, outline, name)
    known.set(key, isBuilder)
    return isBuilder
  }

  function exportIsBuilder(file: string, outline: Outline, name: string): boolean {
    if (name === '*') return exportedNames(file).some((each) => exportsBuilder(file, each))
    const exported = outline.exports.get(name)
    if (exported === undefined) {
      return outline.stars.some((source) => importIsBuilder(file, { source, name }))
    }
    const binding = exported.kind === 'name' ? outline.names.get(exported.name) : exported
    if (declared.has(file)) return binding === undefined || !isNoBuilder(binding)
    return binding !== undefined && bindingIsBuilder(file, binding)
  }

  /** All names that a module exports, those of `export * from` included. */
  function exportedNames(file: string, seen: Set<string> = new Set()): readonly string[] {
    const outline = outlines.get(file)
    if (outline === undefined || seen.has(file)) return []
    seen.add(file)
    const passedOn = outline.stars.flatMap((source) => exportedNames(resolve(source, file) ?? '', seen))
    return [...outline.exports.keys(), ...passedOn]
  }

  function importIsBuilder(file: string, { source, name }: { source: string; name: string }): boolean {
    if (name === 'createAuthedAction') return true
    const target = resolve(source, file)
    return target !== null && exportsBuilder(target, name)
  }

  function bindingIsBuilder(file: string, binding: Binding): boolean {
    if (binding.kind === 'import') return importIsBuilder(file, binding)
    if (binding.kind === 'value') return valueIsBuilder(file, binding.node)
    return binding.name === 'procedure' || memberIsBuilder(file, binding.of, binding.name)
  }

  function valueIsBuilder(file: string, node: Expression): boolean {
    switch (node.type) {
      case 'Identifier': {
        const binding = outlines.get(file)?.names.get(node.name)
        return binding !== undefined && bindingIsBuilder(file, binding)
      }
      case 'MemberExpression':
        if (node.property.type !== 'Identifier') return false
        return node.property.name === 'procedure' || memberIsBuilder(file, node.object, node.property.name)
      case 'CallExpression': {
        const { callee } = node
        const isChain =
          callee.type === 'MemberExpression' &&
          callee.property.type === 'Identifier' &&
          CHAIN.has(callee.property.name)
        return isChain ? valueIsBuilder(file, callee.object) : valueIsBuilder(file, callee)
      }
      case 'ArrowFunctionExpression':
      case 'FunctionDeclaration':
      case 'FunctionExpression':
        return returnedBy(node).some((value) => valueIsBuilder(file, value))
      case 'AwaitExpression':
        return valueIsBuilder(file, node.argument)
      case 'ParenthesizedExpression':
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
        return valueIsBuilder(file, node.expression)
      default:
        return false
    }
  }

  /** `builders.adminProcedure`, where `builders` is another module. */
  function memberIsBuilder(file: string, object: Expression, name: string): boolean {
    if (object.type !== 'Identifier') return false
    const binding = outlines.get(file)?.names.get(object.name)
    return binding?.kind === 'import' && binding.name === '*' && importIsBuilder(file, { ...binding, name })
  }

  const builderModules = new Set(declared)
  const procedureModules = new Set<string>()
  for (const [file, { names }] of outlines) {
    if (declared.has(file)) continue
    if (exportsBuilder(file, '*')) builderModules.add(file)
    else if ([...names.values()].some((name) => name.kind === 'import' && importIsBuilder(file, name))) {
      procedureModules.add(file)
    }
  }
  return { builderModules, procedureModules }
}

function isNoBuilder(binding: Binding): boolean {
  if (binding.kind !== 'value') return NO_BUILDERS.has(binding.name)
  const { node } = binding
  return (
    node.type === 'MemberExpression' &&
    node.property.type === 'Identifier' &&
    NO_BUILDERS.has(node.property.name)
  )
}

/** What a function returns, as far as it stands at its end. */
function returnedBy({ body }: Extract<Expression, { params: unknown }>): Expression[] {
  if (body === null) return []
  if (body.type !== 'BlockStatement') return [body]
  const last = body.body.at(-1)
  return last?.type === 'ReturnStatement' && last.argument !== null ? [last.argument] : []
}
