import type { ESTree } from 'rolldown/utils'

export type Node = ESTree.Node
export type Call = ESTree.CallExpression
export type FunctionNode = ESTree.Function | ESTree.ArrowFunctionExpression

/** Returns whether a member of `ctx` may have the user today. */
export function isUserMember(name: string | null | undefined): name is 'session' | 'user' {
  return name === 'session' || name === 'user'
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** Returns the nodes directly in a node. */
export function childrenOf(node: Node): Node[] {
  return Object.values<unknown>({ ...node })
    .flat()
    .filter(isNode)
}

/** Yields a node and all nodes in it. */
export function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const child of childrenOf(node)) yield* nodesIn(child)
}

/** Returns a node without the wrappers that only types and optional chains need. */
export function peel(node: Node): Node {
  switch (node.type) {
    case 'ChainExpression':
    case 'ParenthesizedExpression':
    case 'TSNonNullExpression':
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return peel(node.expression)
    default:
      return node
  }
}

export function isFunction(node: Node): node is FunctionNode {
  return (
    node.type === 'ArrowFunctionExpression' ||
    node.type === 'FunctionExpression' ||
    node.type === 'FunctionDeclaration'
  )
}

/** Returns the name of a property or member, or null if it's computed. */
export function keyOf({ key, computed }: { key: Node; computed: boolean }): string | null {
  if (key.type === 'Literal' && typeof key.value === 'string') return key.value
  return key.type === 'Identifier' && !computed ? key.name : null
}

export function memberOf({ property, computed }: { property: Node; computed: boolean }): string | null {
  return keyOf({ key: property, computed })
}

/** Returns the name in an import or export. */
export function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}

/** Yields the names that a pattern binds, and the keys that lead to each. Null keys can't be followed. */
export function* namesIn(
  pattern: Node,
  keys: readonly string[] | null = [],
): Generator<[string, readonly string[] | null]> {
  switch (pattern.type) {
    case 'Identifier':
      yield [pattern.name, keys]
      break
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        const key = property.type === 'Property' ? keyOf(property) : null
        const value = property.type === 'Property' ? property.value : property.argument
        yield* namesIn(value, key === null || keys === null ? null : [...keys, key])
      }
      break
    case 'ArrayPattern':
      for (const element of pattern.elements) if (element !== null) yield* namesIn(element, null)
      break
    case 'AssignmentPattern':
      yield* namesIn(pattern.left, null)
      break
    case 'RestElement':
      yield* namesIn(pattern.argument, null)
  }
}
