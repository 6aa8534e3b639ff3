import { isNull } from './guard-parts.ts'
import { type FunctionNode, isFunction, isUserMember, memberOf, type Node, peel } from './nodes.ts'
import type { Source } from './source.ts'

/** How many declarations are followed: they may use each other in a circle. */
const MAX_STEPS = 20

/** Returns whether a value is the session or user that Better Auth or Auth.js returns, unchecked. */
export function isSession(source: Source, given: Node, left: number = MAX_STEPS): boolean {
  const node = peel(given)
  if (left === 0) return false
  switch (node.type) {
    case 'AwaitExpression':
      return isSession(source, node.argument, left)
    case 'LogicalExpression':
      return node.operator !== '&&' && isNull(node.right) && isSession(source, node.left, left)
    case 'CallExpression':
      return returnsSession(source, node.callee, left)
    case 'MemberExpression':
      return isUserMember(memberOf(node)) && isSession(source, node.object, left)
    case 'Identifier': {
      const found = source.find(node.name, node)
      if (found?.binding.kind !== 'value') return false
      const { init, keys } = found.binding
      return keys.every(isUserMember) && isSession(found.source, init, left - 1)
    }
    default:
      return false
  }
}

/** Returns whether a call of this value returns the session. */
function returnsSession(source: Source, given: Node, left: number): boolean {
  const node = peel(given)
  if (left === 0) return false
  if (isFunction(node)) return returned(node, (value) => isSession(source, value, left))
  // React's cache() for a request.
  if (node.type === 'CallExpression' && isFrom(source, node.callee, { from: /^react$/, imported: 'cache' }))
    return node.arguments[0] !== undefined && returnsSession(source, node.arguments[0], left)
  if (node.type === 'MemberExpression' && memberOf(node) === 'getSession') {
    const api = peel(node.object)
    return (
      api.type === 'MemberExpression' && memberOf(api) === 'api' && isBetterAuth(source, api.object, left)
    )
  }
  if (node.type !== 'Identifier') return false
  if (isFrom(source, node, { from: /^next-auth(\/next)?$/, imported: 'getServerSession' })) return true
  const found = source.find(node.name, node)
  if (found?.binding.kind !== 'value') return false
  const { init, keys } = found.binding
  if (keys.length === 0) return returnsSession(found.source, init, left - 1)
  const isAuthJs =
    init.type === 'CallExpression' &&
    isFrom(found.source, init.callee, { from: /^next-auth$/, imported: 'default' })
  return isAuthJs && keys.join() === 'auth'
}

/** Returns whether a value is what `betterAuth()` returns, also through a function that only calls it. */
function isBetterAuth(source: Source, given: Node, left: number): boolean {
  const node = peel(given)
  if (left === 0) return false
  const callee = node.type === 'CallExpression' ? node.callee : node
  if (callee.type !== 'Identifier') return false
  const isCall = callee !== node
  if (isCall && isFrom(source, callee, { from: /^better-auth(\/minimal)?$/, imported: 'betterAuth' }))
    return true
  const found = source.find(callee.name, callee)
  if (found?.binding.kind !== 'value' || found.binding.keys.length > 0) return false
  const { init } = found.binding
  if (!isCall) return isBetterAuth(found.source, init, left - 1)
  return isFunction(init) && returned(init, (result) => isBetterAuth(found.source, result, left - 1))
}

/** Checks the value of a function that does nothing else than return it. */
function returned({ body }: FunctionNode, check: (value: Node) => boolean): boolean {
  if (body?.type !== 'BlockStatement') return body !== null && check(body)
  const [statement] = body.body
  return statement?.type === 'ReturnStatement' && statement.argument !== null && check(statement.argument)
}

/** Returns whether a name is an import of this name from an installed package. */
export function isFrom(
  source: Source,
  node: Node,
  { from, imported }: { from: RegExp; imported: string },
): boolean {
  const binding = node.type === 'Identifier' ? source.find(node.name, node)?.binding : undefined
  return binding?.kind === 'import' && from.test(binding.from) && binding.imported === imported
}
