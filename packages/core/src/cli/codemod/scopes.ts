import type { ESTree } from 'rolldown/utils'
import { childrenOf, type FunctionNode, isFunction, type Node, nameOf, namesIn } from './nodes.ts'

/** What a name means. `keys` lead from the value, which may be a function, or the first parameter to it. */
export type Binding =
  | { readonly kind: 'import'; readonly from: string; readonly imported: string }
  | { readonly kind: 'value'; readonly init: Node; readonly keys: readonly string[] }
  | { readonly kind: 'parameter'; readonly fn: FunctionNode; readonly keys: readonly string[] }
  | { readonly kind: 'other' }

/** A name, the part of the file in which it means this, and what it means. */
type Declaration = readonly [name: string, scope: Node, binding: Binding]

/** Where names are declared: `var` in the function, all others in the block. */
interface Scope {
  readonly block: Node
  readonly fn: Node
}

/** Reads the declarations of a file, and returns what a name means at a node. */
export function scopeOf(program: ESTree.Program): (name: string, node: Node) => Binding | null {
  const found = Map.groupBy(declarationsIn(program, { block: program, fn: program }), ([name]) => name)
  return (name, { start }) => {
    const around = (found.get(name) ?? []).filter(([, scope]) => scope.start <= start && start < scope.end)
    const inner = Math.min(...around.map(([, scope]) => scope.end - scope.start))
    const bindings = around.flatMap(([, scope, binding]) =>
      scope.end - scope.start === inner ? binding : [],
    )
    return bindings.length === 1 ? (bindings[0] ?? null) : null
  }
}

function* declarationsIn(node: Node, around: Scope): Generator<Declaration> {
  yield* declarationsOf(node, around)
  const scope = isFunction(node)
    ? { block: node, fn: node }
    : BLOCKS.has(node.type)
      ? { ...around, block: node }
      : around
  for (const child of childrenOf(node)) yield* declarationsIn(child, scope)
}

const BLOCKS = new Set([
  'BlockStatement',
  'CatchClause',
  'ForInStatement',
  'ForOfStatement',
  'ForStatement',
  'StaticBlock',
  'SwitchStatement',
])

function* declarationsOf(node: Node, { block, fn }: Scope): Generator<Declaration> {
  if (node.type === 'ImportDeclaration')
    for (const specifier of node.specifiers) {
      const binding = { kind: 'import', from: node.source.value, imported: importedName(specifier) } as const
      yield [specifier.local.name, block, binding]
    }
  if (node.type === 'VariableDeclaration')
    for (const { id, init } of node.declarations)
      for (const [name, keys] of namesIn(id)) {
        const isConstant = node.kind === 'const' && init && keys
        yield [name, node.kind === 'var' ? fn : block, isConstant ? { kind: 'value', init, keys } : OTHER]
      }
  if (isFunction(node)) {
    if (node.type !== 'ArrowFunctionExpression' && node.id !== null) {
      const scope = node.type === 'FunctionExpression' ? node : block
      yield [node.id.name, scope, { kind: 'value', init: node, keys: [] }]
    }
    for (const [i, parameter] of node.params.entries())
      for (const [name, keys] of namesIn(parameter))
        yield [name, node, i === 0 && keys ? { kind: 'parameter', fn: node, keys } : OTHER]
  }
  if (node.type === 'ClassDeclaration' && node.id !== null) yield [node.id.name, block, OTHER]
  if (node.type === 'CatchClause' && node.param !== null)
    for (const [name] of namesIn(node.param)) yield [name, node, OTHER]
}

const OTHER = { kind: 'other' } as const

function importedName(specifier: ESTree.ImportDeclarationSpecifier): string {
  if (specifier.type === 'ImportDefaultSpecifier') return 'default'
  return specifier.type === 'ImportNamespaceSpecifier' ? '*' : nameOf(specifier.imported)
}
