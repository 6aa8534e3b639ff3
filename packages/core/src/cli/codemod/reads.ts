import { childrenOf, type FunctionNode, isFunction, type Node, namesIn } from './nodes.ts'
import { pathOf, type Source } from './source.ts'

/** A place where a function uses its options, such as `ctx.session.user.id`, as far as the members lead. */
export interface Read {
  readonly node: Node
  readonly keys: readonly string[]
  /** True if it only gives the value a name: the uses of the name are reads too. */
  readonly isDeclaration: boolean
}

/** Yields the reads of the options in a function. */
export function* readsOf(source: Source, fn: FunctionNode): Generator<Read> {
  const [options] = fn.params
  if (options !== undefined) yield* declared(options, [])
  if (fn.body !== null) yield* visit(fn.body)

  function* visit(node: Node): Generator<Read> {
    const path = node.type === 'Identifier' || node.type === 'MemberExpression' ? pathOf(source, node) : null
    if (path?.fn === fn) yield { node, keys: path.keys, isDeclaration: false }
    else if (node.type === 'VariableDeclarator') yield* visitDeclaration(node)
    else for (const child of readIn(node)) yield* visit(child)
  }

  function* visitDeclaration({ id, init }: Node & { type: 'VariableDeclarator' }): Generator<Read> {
    const path = init && pathOf(source, init)
    if (path?.fn === fn) yield* declared(id, path.keys)
    else if (init) yield* visit(init)
  }
}

function* declared(pattern: Node, base: readonly string[]): Generator<Read> {
  for (const [, keys] of namesIn(pattern))
    if (keys !== null) yield { node: pattern, keys: [...base, ...keys], isDeclaration: true }
}

/** Returns the nodes in a node that are evaluated. The names of members and of parameters aren't. */
function readIn(node: Node): Node[] {
  if (node.type === 'MemberExpression') return node.computed ? [node.object, node.property] : [node.object]
  if (node.type === 'Property') return node.computed ? [node.key, node.value] : [node.value]
  if (isFunction(node)) return node.body === null ? [] : [node.body]
  return childrenOf(node)
}

/** Returns whether a function assigns to its options or a member of them. */
export function writesOptions(source: Source, fn: FunctionNode, node: Node): boolean {
  const target =
    node.type === 'AssignmentExpression'
      ? node.left
      : node.type === 'UpdateExpression' || (node.type === 'UnaryExpression' && node.operator === 'delete')
        ? node.argument
        : null
  return target !== null && pathOf(source, target)?.fn === fn
}
