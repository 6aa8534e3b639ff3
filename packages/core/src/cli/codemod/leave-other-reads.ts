import type { Findings } from './findings.ts'
import {
  type FunctionNode,
  isFunction,
  isUserMember,
  memberOf,
  type Node,
  namesIn,
  nodesIn,
  peel,
} from './nodes.ts'
import { pathOf, type Source } from './source.ts'

/** Lists the reads of `ctx.session` and `ctx.user` in functions that aren't part of a procedure. */
export function leaveOtherReads(
  source: Source,
  handled: ReadonlySet<FunctionNode>,
  findings: Findings,
): void {
  for (const node of nodesIn(source.program)) {
    const member = memberRead(node)
    if (member === null || findings.isReplaced(source, node)) continue
    const path = pathOf(source, member.ctx)
    if (path !== null && handled.has(path.fn)) continue
    if (isFunction(node) && handled.has(node)) continue
    findings.leave(source, node, `reads ctx.${member.name} outside of a procedure. Check its callers.`)
  }
}

interface MemberRead {
  readonly name: string
  readonly ctx: Node
}

/** Recognizes `ctx.user`, `const { user } = ctx`, and the parameter `{ ctx: { user } }`. */
function memberRead(node: Node): MemberRead | null {
  if (node.type === 'MemberExpression') {
    const name = memberOf(node)
    return isUserMember(name) && isContext(node.object) ? { name, ctx: node.object } : null
  }
  if (node.type === 'VariableDeclarator' && node.init && isContext(node.init)) {
    const name = [...namesIn(node.id)].map(([, keys]) => keys?.[0] ?? '').find(isUserMember)
    return name === undefined ? null : { name, ctx: node.init }
  }
  const [options] = isFunction(node) ? node.params : []
  if (options === undefined) return null
  for (const [, keys] of namesIn(options)) {
    const [ctx, name] = keys ?? []
    if (ctx === 'ctx' && isUserMember(name)) return { name, ctx: options }
  }
  return null
}

function isContext(given: Node): boolean {
  const node = peel(given)
  return node.type === 'Identifier'
    ? node.name === 'ctx'
    : node.type === 'MemberExpression' && memberOf(node) === 'ctx'
}
