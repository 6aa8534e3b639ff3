import type { Findings } from './findings.ts'
import { type FunctionNode, isUserMember, type Node, nodesIn, peel } from './nodes.ts'
import type { State } from './read-procedures.ts'
import { readsOf, writesOptions } from './reads.ts'
import { firstLineOf, pathOf, type Source } from './source.ts'

const USER_FIELDS = new Set(['id', 'name', 'email', 'role'])
const SESSION_FIELDS = new Set(['id', 'userId', 'expiresAt', 'user'])

/** A function of a procedure: a middleware, or what the procedure runs. */
export interface Reader {
  readonly source: Source
  readonly fn: FunctionNode
  /** Which callers reach it. */
  readonly state: State
}

/** Rewrites `ctx.session.user` to `ctx.user` behind a guard, and lists the other reads of the user. */
export function rewriteReads({ source, fn, state }: Reader, findings: Findings): void {
  const isWritten = [...nodesIn(fn)].some((node) => writesOptions(source, fn, node))
  for (const { node, keys } of readsOf(source, fn)) {
    const [ctx, member, field, userField] = keys
    if (ctx !== 'ctx' || !isUserMember(member)) continue
    const leave = (reason: string) => findings.leave(source, node, reason)
    if (state === 'open')
      leave(`a public procedure reads ctx.${member}. Guard it, or use optionalSessionMiddleware.`)
    if (state === 'unknown') leave(`reads ctx.${member}, but no guard was moved.`)
    if (state !== 'guarded') continue
    const name = member === 'user' ? field : userField
    const isUser = member === 'user' || field === 'user'
    if (isUser && name !== undefined && !USER_FIELDS.has(name)) leave(missing('user', name))
    if (member === 'session' && field === 'session')
      leave('ctx.session is the session itself. Remove the second ".session".')
    else if (member === 'session' && field !== undefined && !SESSION_FIELDS.has(field))
      leave(missing('session', field))
    if (member !== 'session' || field !== 'user') continue
    const range = rangeOf(source, node)
    if (range !== null && !isWritten) findings.edit(source, range, '.user')
    else leave(`reads "${firstLineOf(source, node)}". This still works. Prefer ctx.user.`)
  }
}

/** Says where a column is that `sessionMiddleware` doesn't have. */
const missing = (table: string, column: string) =>
  `sessionMiddleware's ${table} has no "${column}". If betterAuthGuard(), a plugin, or a mapping adds it, use the middlewares of bindSession(). Otherwise, read it from your table.`

/** Returns the part `.session.user` of a read. Null if a local name is between. */
function rangeOf(source: Source, read: Node): { start: number; end: number } | null {
  let end: number | null = null
  for (let node = read; node.type === 'MemberExpression'; node = peel(node.object)) {
    const keys = pathOf(source, node)?.keys.join('.')
    if (keys === 'ctx.session.user') end = node.end
    const object = peel(node.object)
    if (keys === 'ctx.session' && end !== null) return { start: object.end, end }
  }
  return null
}
