import { type FunctionNode, keyOf, type Node, namesIn, nodesIn, peel } from './nodes.ts'
import { readsOf, writesOptions } from './reads.ts'
import { pathOf, type Source } from './source.ts'

/** Members of `ctx` that tell who calls. */
const IDENTITY = new Set(['auth', 'identity', 'session', 'user'])

/**
 * Returns whether a middleware leaves the user in `ctx` as it is, for certain: it passes `ctx` and its
 * options to no other function, and adds only other members.
 */
export function keepsUser(source: Source, fn: FunctionNode): boolean {
  const [options, ...more] = fn.params
  const isFollowed = options === undefined || [...namesIn(options)].every(([, keys]) => keys !== null)
  if (!isFollowed || more.length > 0) return false
  const nodes = [...nodesIn(fn)]
  const allowed = new Set(nodes.flatMap((node) => partsOfNext(source, fn, node) ?? []))
  const leaks = [...readsOf(source, fn)].some(
    ({ node, keys, isDeclaration }) =>
      !isDeclaration && !allowed.has(node) && ['', 'ctx', 'next'].includes(keys.join('.')),
  )
  return !leaks && !nodes.some((node) => writesOptions(source, fn, node))
}

/** Returns the safe parts of a call of `next`: itself, and `ctx` spread. None if it may set the user. */
function partsOfNext(source: Source, fn: FunctionNode, node: Node): Node[] | null {
  if (node.type !== 'CallExpression' || !isPath(source, fn, { node: node.callee, keys: 'next' })) return []
  const callee = peel(node.callee)
  const [options] = node.arguments
  if (options === undefined) return [callee]
  if (options.type !== 'ObjectExpression') return null
  const parts: Node[] = [callee]
  for (const property of options.properties) {
    if (property.type !== 'Property') return null
    if (keyOf(property) !== 'ctx') continue
    const added = partsOfContext(source, fn, property.value)
    if (added === null) return null
    parts.push(...added)
  }
  return parts
}

function partsOfContext(source: Source, fn: FunctionNode, given: Node): Node[] | null {
  const value = peel(given)
  if (isPath(source, fn, { node: value, keys: 'ctx' })) return [value]
  if (value.type !== 'ObjectExpression') return null
  const parts: Node[] = []
  for (const property of value.properties) {
    if (property.type === 'SpreadElement') {
      if (!isPath(source, fn, { node: property.argument, keys: 'ctx' })) return null
      parts.push(peel(property.argument))
    } else if (IDENTITY.has(keyOf(property) ?? 'user')) return null
  }
  return parts
}

function isPath(source: Source, fn: FunctionNode, { node, keys }: { node: Node; keys: string }): boolean {
  const path = pathOf(source, node)
  return path?.fn === fn && path.keys.join('.') === keys
}
