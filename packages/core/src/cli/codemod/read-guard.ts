import type { ESTree } from 'rolldown/utils'
import { asRoles, isNothing, isRejection, propertiesOf } from './guard-parts.ts'
import { type FunctionNode, keyOf, memberOf, type Node, namesIn, peel } from './nodes.ts'
import { firstLineOf, pathOf, type Source } from './source.ts'

/** What a hand-written middleware demands. */
export interface Guard {
  /** The members of `ctx` that it reads the user from: `session` or `user`. */
  readonly members: ReadonlySet<string>
  /** The role must be in each of these lists. */
  readonly roles: readonly (readonly [string, ...string[]])[]
}

/** Why a middleware can't be replaced, and the part of it that says so. */
export interface Obstacle {
  readonly at: Node
  readonly reason: string
}

/** The user, from the options of a procedure. Some apps test only the id. */
const USER = /^ctx\.(session(\.user)?|user|session\.user\.id|user\.id)$/

/**
 * Reads a middleware that only demands a user, or a role. Anything else in it, such as another check, another
 * member of `ctx`, or a log, is an obstacle: a session middleware wouldn't do it.
 */
export function readGuard(source: Source, fn: FunctionNode): Guard | Obstacle {
  const members = new Set<string>()
  const roles: [string, ...string[]][] = []

  /** Returns the path of the user in the options, or of what is derived from it. */
  function pathIn(node: Node): string | null {
    const path = pathOf(source, node)
    return path?.fn === fn ? path.keys.join('.') : null
  }

  function isUser(node: Node, expected: RegExp = USER): boolean {
    const path = pathIn(node)
    if (path === null || !expected.test(path)) return false
    members.add(path.split('.')[1] ?? '')
    return true
  }

  /** Reads a condition that rejects the call. */
  function readTest(given: Node): boolean {
    const test = peel(given)
    if (test.type === 'LogicalExpression' && test.operator === '||')
      return readTest(test.left) && readTest(test.right)
    if (test.type === 'UnaryExpression' && test.operator === '!' && isUser(test.argument)) return true
    if (
      test.type === 'BinaryExpression' &&
      /^={2,3}$/.test(test.operator) &&
      isNothing(test.right) &&
      isUser(test.left)
    )
      return true
    const allowed = otherRoles(test)
    if (allowed === null) return false
    roles.push(allowed)
    return true
  }

  /** Returns the roles that pass `role !== 'a' && role !== 'b'`, or `!['a', 'b'].includes(role)`. */
  function otherRoles(given: Node): [string, ...string[]] | null {
    const test = peel(given)
    if (test.type === 'LogicalExpression' && test.operator === '&&') {
      const [left, right] = [otherRoles(test.left), otherRoles(test.right)]
      return left && right && [...left, ...right]
    }
    if (test.type === 'BinaryExpression' && /^!={1,2}$/.test(test.operator))
      return isUser(test.left, ROLE) ? asRoles([test.right]) : null
    const call = test.type === 'UnaryExpression' && test.operator === '!' ? peel(test.argument) : test
    if (call === test || call.type !== 'CallExpression' || call.callee.type !== 'MemberExpression')
      return null
    const list = peel(call.callee.object)
    const [role, ...more] = call.arguments
    const isIncludes = memberOf(call.callee) === 'includes'
    const isRole = isIncludes && more.length === 0 && role !== undefined && isUser(role, ROLE)
    return isRole && list.type === 'ArrayExpression' ? asRoles(list.elements) : null
  }

  /** Reads one statement of the body. Returns the obstacle in it. */
  function readStatement(statement: Node): Obstacle | null {
    const other = { at: statement, reason: `does more than check the user: ${quote(source, statement)}` }
    if (statement.type === 'VariableDeclaration') return statement.declarations.every(isAlias) ? null : other
    if (statement.type === 'IfStatement') {
      if (statement.alternate !== null || !isRejection(statement.consequent)) return other
      const { test } = statement
      if (readTest(test)) return null
      return { at: test, reason: `checks more than the user or a role: ${quote(source, test)}` }
    }
    return statement.type === 'ReturnStatement' ? readNext(statement) : other
  }

  function isAlias({ id, init }: ESTree.VariableDeclarator): boolean {
    return init !== null && pathIn(init) !== null && [...namesIn(id)].every(([, keys]) => keys !== null)
  }

  /** Reads `return next(…)`, which may set only the user and the session, and to what they are already. */
  function readNext(statement: ESTree.ReturnStatement): Obstacle | null {
    const { argument } = statement
    const awaited = argument?.type === 'AwaitExpression' ? argument.argument : argument
    const call = awaited && peel(awaited)
    if (call?.type !== 'CallExpression' || pathIn(call.callee) !== 'next')
      return { at: statement, reason: 'does not return next()' }
    const [options, ...more] = call.arguments
    const properties = options === undefined ? [] : propertiesOf(options)
    const isPlain = properties?.every(
      (property) =>
        property.type === 'Property' && keyOf(property) === 'ctx' && isSame(property.value, ['ctx']),
    )
    if (isPlain && more.length === 0) return null
    return { at: call, reason: `passes on more than the user: ${quote(source, call)}` }
  }

  /** Returns whether a value is what the path leads to already, or a copy of it. */
  function isSame(value: Node, keys: readonly string[]): boolean {
    const path = keys.join('.')
    const actual = pathIn(value)
    if (actual !== null) return actual === path || (path === 'ctx.user' && actual === 'ctx.session.user')
    const properties = propertiesOf(value)
    if (properties === null || keys.length > 2) return false
    return properties.every((property) => {
      if (property.type === 'SpreadElement') return pathIn(property.argument) === path
      const key = keyOf(property)
      const isOurs = key !== null && USER.test([...keys, key].join('.'))
      return isOurs && isSame(property.value, [...keys, key])
    })
  }

  const obstacle = readBody()
  return obstacle ?? { members, roles }

  function readBody(): Obstacle | null {
    const statements = fn.body?.type === 'BlockStatement' ? fn.body.body : []
    for (const statement of statements) {
      const found = readStatement(statement)
      if (found !== null) return found
    }
    const isGuard = members.size > 0 && statements.at(-1)?.type === 'ReturnStatement'
    if (isGuard && fn.params.length === 1 && !fn.generator) return null
    return { at: fn, reason: 'reads the user but rejects no call' }
  }
}

const ROLE = /^ctx\.(session\.)?user\.role$/

function quote(source: Source, node: Node): string {
  return `"${firstLineOf(source, node)}"`
}
