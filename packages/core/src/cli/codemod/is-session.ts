import { isNull } from './guard-parts.ts'
import { type FunctionNode, isFunction, isUserMember, memberOf, type Node, peel } from './nodes.ts'
import type { Project } from './project.ts'
import type { Source } from './source.ts'

interface Place {
  readonly project: Project
  readonly source: Source
  /** How many declarations it still follows: they may use each other in a circle. */
  readonly left?: number
}

const MAX_STEPS = 20

/** Returns whether a value is the session or user that Better Auth or Auth.js returns, unchecked. */
export function isSession(place: Place, given: Node): boolean {
  const node = peel(given)
  const { project, source, left = MAX_STEPS } = place
  if (left === 0) return false
  switch (node.type) {
    case 'AwaitExpression':
      return isSession(place, node.argument)
    case 'LogicalExpression':
      return node.operator !== '&&' && isNull(node.right) && isSession(place, node.left)
    case 'CallExpression':
      return returnsSession(place, node.callee)
    case 'MemberExpression':
      return isUserMember(memberOf(node)) && isSession(place, node.object)
    case 'Identifier': {
      const found = project.find(source, node.name, node)
      if (found?.binding.kind !== 'value') return false
      const { init, keys } = found.binding
      return keys.every(isUserMember) && isSession({ project, source: found.source, left: left - 1 }, init)
    }
    default:
      return false
  }
}

/** Returns whether a call of this value returns the session. */
function returnsSession(place: Place, given: Node): boolean {
  const node = peel(given)
  const { project, source, left = MAX_STEPS } = place
  if (left === 0) return false
  if (isFunction(node)) return returned(node, (value) => isSession(place, value))
  // React's cache() for a request.
  if (node.type === 'CallExpression' && isFrom(place, node.callee, { from: /^react$/, imported: 'cache' }))
    return node.arguments[0] !== undefined && returnsSession(place, node.arguments[0])
  if (node.type === 'MemberExpression' && memberOf(node) === 'getSession') {
    const api = peel(node.object)
    return api.type === 'MemberExpression' && memberOf(api) === 'api' && isBetterAuth(place, api.object)
  }
  if (node.type !== 'Identifier') return false
  if (isFrom(place, node, { from: /^next-auth(\/next)?$/, imported: 'getServerSession' })) return true
  const found = project.find(source, node.name, node)
  const next = { project, source: found?.source ?? source, left: left - 1 }
  if (found?.binding.kind === 'function') return returned(found.binding.fn, (value) => isSession(next, value))
  if (found?.binding.kind !== 'value') return false
  const { init, keys } = found.binding
  if (keys.length === 0) return returnsSession(next, init)
  const isAuthJs =
    init.type === 'CallExpression' && isFrom(next, init.callee, { from: /^next-auth$/, imported: 'default' })
  return isAuthJs && keys.join() === 'auth'
}

/** Returns whether a value is what `betterAuth()` returns, also through a function that only calls it. */
function isBetterAuth(place: Place, given: Node): boolean {
  const node = peel(given)
  const { project, source, left = MAX_STEPS } = place
  if (left === 0) return false
  const callee = node.type === 'CallExpression' ? node.callee : node
  if (callee.type !== 'Identifier') return false
  if (callee !== node && isFrom(place, callee, { from: /^better-auth(\/minimal)?$/, imported: 'betterAuth' }))
    return true
  const found = project.find(source, callee.name, callee)
  const next = { project, source: found?.source ?? source, left: left - 1 }
  if (found?.binding.kind === 'value' && found.binding.keys.length === 0) {
    const { init } = found.binding
    if (callee === node) return isBetterAuth(next, init)
    return isFunction(init) && returned(init, (value) => isBetterAuth(next, value))
  }
  return (
    callee !== node &&
    found?.binding.kind === 'function' &&
    returned(found.binding.fn, (value) => isBetterAuth(next, value))
  )
}

/** Checks the value of a function that does nothing else than return it. */
function returned({ body }: FunctionNode, check: (value: Node) => boolean): boolean {
  if (body?.type !== 'BlockStatement') return body !== null && check(body)
  const [statement] = body.body
  return statement?.type === 'ReturnStatement' && statement.argument !== null && check(statement.argument)
}

/** Returns whether a name is an import of this name from an installed package. */
export function isFrom(
  { project, source }: Place,
  node: Node,
  { from, imported }: { from: RegExp; imported: string },
): boolean {
  if (node.type !== 'Identifier') return false
  const binding = project.find(source, node.name, node)?.binding
  return binding?.kind === 'import' && from.test(binding.from) && binding.imported === imported
}
