import type { ESTree } from 'rolldown/utils'
import { keyOf, type Node, peel } from './nodes.ts'

/** Returns the strings of a list. Null if anything else is in it. */
export function asRoles(nodes: readonly (Node | null)[]): [string, ...string[]] | null {
  const roles = nodes.map((node) =>
    node?.type === 'Literal' && typeof node.value === 'string' ? node.value : null,
  )
  const [first, ...more] = roles.filter((role) => role !== null)
  return first === undefined || more.length + 1 < nodes.length ? null : [first, ...more]
}

/** Returns whether a value is `null` or `undefined`. */
export function isNothing(given: Node): boolean {
  const node = peel(given)
  return isNull(node) || (node.type === 'Identifier' && node.name === 'undefined')
}

/** Returns whether a node is `null`, which a regular expression may have as its value too. */
export function isNull(node: Node): boolean {
  return node.type === 'Literal' && 'raw' in node && node.raw === 'null'
}

/** Returns whether a branch only throws a TRPCError for a caller who may not call. */
export function isRejection(branch: Node): boolean {
  if (branch.type === 'BlockStatement') {
    const [first, ...more] = branch.body
    return first !== undefined && more.length === 0 && isRejection(first)
  }
  if (branch.type !== 'ThrowStatement' || branch.argument.type !== 'NewExpression') return false
  const { callee, arguments: given } = branch.argument
  const [options, ...more] = given
  const properties = options === undefined ? null : propertiesOf(options)
  const isTRPCError = callee.type === 'Identifier' && callee.name === 'TRPCError'
  if (!isTRPCError || properties === null || more.length > 0) return false
  return properties.every((property) => {
    if (property.type !== 'Property' || property.value.type !== 'Literal') return false
    const key = keyOf(property)
    return key !== null && (key !== 'code' || CODES.has(String(property.value.value)))
  })
}

const CODES = new Set(['UNAUTHORIZED', 'FORBIDDEN'])

/** Returns the properties of an object literal. Null for anything else. */
export function propertiesOf(given: Node): ESTree.ObjectExpression['properties'] | null {
  const node = peel(given)
  return node.type === 'ObjectExpression' ? node.properties : null
}
