import type { ESTree } from 'rolldown/utils'
import { type Call, type FunctionNode, isFunction, memberOf, type Node, peel } from './nodes.ts'
import type { Source } from './source.ts'

/** Who gets through the middlewares of a procedure so far, as far as `ctx.user` and `ctx.session` say. */
export type State = 'open' | 'optional' | 'guarded' | 'unknown'

/** What an expression is to tRPC. */
export type Value =
  | { readonly kind: 'initTRPC' | 't' | 'createMiddleware' | 'bindSession' }
  | { readonly kind: 'ours'; readonly name: string }
  | { readonly kind: 'procedure'; readonly state: State }
  /** A function: a middleware, or what a procedure runs. */
  | { readonly kind: 'function'; readonly fn: FunctionNode; readonly source: Source }

/** What `.use()` makes of a procedure. */
export type Use = (call: Call, source: Source, before: State) => State

const KEEPS_STATE = new Set(['input', 'output', 'meta'])
const MAX_STEPS = 50

/** Returns a function that says what an expression is to tRPC. Null if it can't be followed. */
export function readProcedures(use: Use): (node: Node, source: Source) => Value | null {
  const states = new Map<Call, State>()

  function evaluate(given: Node, source: Source, left: number = MAX_STEPS): Value | null {
    const node = peel(given)
    if (left === 0) return null
    if (isFunction(node)) return { kind: 'function', fn: node, source }
    if (node.type === 'Identifier') return evaluateName(node, source, left - 1)
    if (node.type === 'MemberExpression') return evaluateMember(node, source, left - 1)
    return node.type === 'CallExpression' ? evaluateCall(node, source, left - 1) : null
  }

  function evaluateName(node: Node & { name: string }, source: Source, left: number): Value | null {
    const found = source.find(node.name, node)
    if (found?.binding.kind === 'import') return ofPackage(found.binding.from, found.binding.imported)
    if (found?.binding.kind !== 'value') return null
    const { init, keys } = found.binding
    return keys.reduce<Value | null>(member, evaluate(init, found.source, left))
  }

  function evaluateMember(node: ESTree.MemberExpression, source: Source, left: number): Value | null {
    const key = memberOf(node)
    return key === null ? null : member(evaluate(node.object, source, left), key)
  }

  function evaluateCall(node: Call, source: Source, left: number): Value | null {
    const callee = peel(node.callee)
    const method = callee.type === 'MemberExpression' ? memberOf(callee) : null
    const object = callee.type === 'MemberExpression' ? evaluate(callee.object, source, left) : null
    if (object?.kind === 'initTRPC') return method === 'create' ? { kind: 't' } : object
    if (object?.kind === 'procedure') {
      if (method !== null && KEEPS_STATE.has(method)) return object
      return { kind: 'procedure', state: method === 'use' ? after(node, source, object.state) : 'unknown' }
    }
    const called = method === null ? evaluate(callee, source, left) : member(object, method)
    if (called?.kind === 'ours') return called.name === 'bindSession' ? { kind: 'bindSession' } : called
    const [argument] = node.arguments
    return called?.kind === 'createMiddleware' && argument !== undefined
      ? evaluate(argument, source, left)
      : null
  }

  function after(call: Call, source: Source, before: State): State {
    const state = states.get(call) ?? use(call, source, before)
    states.set(call, state)
    return state
  }

  return evaluate
}

function member(value: Value | null, key: string): Value | null {
  if (value?.kind === 't' && key === 'procedure') return { kind: 'procedure', state: 'open' }
  if (value?.kind === 't' && key === 'middleware') return { kind: 'createMiddleware' }
  return value?.kind === 'bindSession' ? { kind: 'ours', name: key } : null
}

function ofPackage(from: string, imported: string): Value | null {
  if (from === '@trpc/server' && imported === 'initTRPC') return { kind: 'initTRPC' }
  return from === '@sallyport/trpc' ? { kind: 'ours', name: imported } : null
}
