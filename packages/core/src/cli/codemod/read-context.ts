import { isFrom, isSession } from './is-session.ts'
import { isFunction, isUserMember, keyOf, memberOf, type Node, nodesIn, peel } from './nodes.ts'
import { firstLineOf, pathOf, type Source } from './source.ts'

/** A member of the context that has the session or the user today. */
export interface ContextMember {
  readonly source: Source
  readonly name: string
  readonly at: Node
  /** Why it may depend on more than the session. Null if it is what a library returns. */
  readonly doubt: string | null
}

const CREATES_CONTEXT = /^create\w*Context/

/**
 * Finds what `createContext` puts into `ctx.session` and `ctx.user`: the functions with such a name, those
 * whose type is the context, and those that are passed as the option `createContext`.
 */
export function readContext(sources: readonly Source[]): ContextMember[] {
  const nodes = sources.flatMap((source) => [...nodesIn(source.program)].map((node) => ({ source, node })))
  const names = new Set(nodes.flatMap(({ node }) => contextNames(node)))
  return nodes.flatMap(({ source, node }) =>
    createsContext(source, node, names) ? membersIn(source, node) : [],
  )
}

/** Returns the names in `initTRPC.context<typeof name>()`, in a type such as `Context`, and in the option. */
function contextNames(node: Node): string[] {
  if (node.type === 'Property' && keyOf(node) === 'createContext') return namesOf(node.value)
  const isContext =
    (node.type === 'TSTypeAliasDeclaration' && /context$/i.test(node.id.name)) ||
    (node.type === 'CallExpression' &&
      node.callee.type === 'MemberExpression' &&
      memberOf(node.callee) === 'context')
  if (!isContext) return []
  return [...nodesIn(node)].flatMap((query) =>
    query.type === 'TSTypeQuery' && query.exprName.type === 'Identifier' ? query.exprName.name : [],
  )
}

/** Returns the name of a function, or those of the functions that it calls. */
function namesOf(given: Node): string[] {
  const fn = peel(given)
  if (fn.type === 'Identifier') return [fn.name]
  return [...nodesIn(fn)].flatMap((node) =>
    node.type === 'CallExpression' && node.callee.type === 'Identifier' ? node.callee.name : [],
  )
}

/** Returns whether a node declares such a function, or calls one. Calls pass members to inner functions. */
function createsContext(source: Source, node: Node, names: ReadonlySet<string>): boolean {
  const isContext = (name: string) => CREATES_CONTEXT.test(name) || names.has(name)
  switch (node.type) {
    case 'FunctionDeclaration':
      return isContext(node.id?.name ?? '')
    case 'VariableDeclarator':
      return node.id.type === 'Identifier' && isContext(node.id.name)
    case 'Property':
      return keyOf(node) === 'createContext' && isFunction(node.value)
    case 'CallExpression': {
      if (node.callee.type !== 'Identifier') return false
      const binding = source.bindingAt(node.callee.name, node)
      return isContext(node.callee.name) && !(binding?.kind === 'import' && binding.from === 'react')
    }
    default:
      return false
  }
}

function membersIn(source: Source, root: Node): ContextMember[] {
  const nodes = [...nodesIn(root)]
  const wrapper = root.type === 'VariableDeclarator' && root.init ? peel(root.init) : root
  const isWrapped =
    wrapper !== root &&
    wrapper.type === 'CallExpression' &&
    !isFrom(source, wrapper.callee, { from: /^react$/, imported: 'cache' })
  const branch = isWrapped ? wrapper : nodes.find(mayCheck)
  const patterns = new Set<Node>(
    nodes.flatMap<Node>((node) => (node.type === 'ObjectPattern' ? node.properties : [])),
  )

  function doubtOf(value: Node): string | null {
    if (branch !== undefined) return firstLineOf(source, branch)
    const isPlain = isPassed(source, value, root) || isSession(source, value)
    return isPlain ? null : firstLineOf(source, value)
  }

  return nodes.flatMap((node): ContextMember[] => {
    const isUnread =
      node.type === 'SpreadElement'
        ? !isHarmless(source, node.argument)
        : node.type === 'Property' && !patterns.has(node) && keyOf(node) === null
    if (isUnread)
      return ['session', 'user'].map((name) => ({ source, name, at: node, doubt: firstLineOf(source, node) }))
    if (node.type !== 'Property' || patterns.has(node)) return []
    const name = keyOf(node)
    if (!isUserMember(name)) return []
    return [{ source, name, at: node, doubt: doubtOf(node.value) }]
  })
}

/** Returns whether a value to spread is an option, an inner context, which is read too, or Sallyport's. */
function isHarmless(source: Source, given: Node): boolean {
  const node = peel(given)
  if (pathOf(source, node) !== null) return true
  if (node.type === 'AwaitExpression') return isHarmless(source, node.argument)
  if (node.type === 'CallExpression') {
    const { callee } = node
    if (callee.type === 'Identifier') return CREATES_CONTEXT.test(callee.name) || isOurs(source, callee)
    const object = callee.type === 'MemberExpression' ? peel(callee.object) : null
    return object?.type === 'Identifier' && isOurs(source, object)
  }
  const binding = node.type === 'Identifier' ? source.bindingAt(node.name, node) : null
  return binding?.kind === 'value' && binding.init.end < node.start && isHarmless(source, binding.init)
}

/** Returns whether a name is part of what a function of Sallyport returns, such as `createNextAuth()`. */
function isOurs(source: Source, node: Node & { name: string }): boolean {
  const found = source.find(node.name, node)
  const init = found?.binding.kind === 'value' ? found.binding.init : null
  if (found === null || init?.type !== 'CallExpression' || init.callee.type !== 'Identifier') return false
  const made = found.source.find(init.callee.name, init.callee)?.binding
  return made?.kind === 'import' && /^@sallyport\/trpc(\/|$)/.test(made.from)
}

/** Returns whether the caller of the function passes it as a member of this name. The call is read too. */
function isPassed(source: Source, value: Node, root: Node): boolean {
  const path = pathOf(source, value)
  const isOwn =
    path !== null && (path.fn === root || (root.type === 'VariableDeclarator' && path.fn === root.init))
  return isOwn && path.keys.length > 0 && path.keys.every(isUserMember)
}

/** Returns whether a node may check the user: a branch, or a call for its effect, except a log. */
function mayCheck(node: Node): boolean {
  if (node.type !== 'ExpressionStatement') return BRANCHES.has(node.type)
  const { expression: call } = node
  if (call.type !== 'CallExpression' || call.callee.type !== 'MemberExpression') return true
  const { object } = call.callee
  return !(object.type === 'Identifier' && object.name === 'console')
}

/** What may make the user depend on more than the session. */
const BRANCHES = new Set([
  'AssignmentExpression',
  'ConditionalExpression',
  'ForOfStatement',
  'IfStatement',
  'SwitchStatement',
  'ThrowStatement',
  'TryStatement',
])
