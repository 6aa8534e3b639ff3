import type { Findings } from './findings.ts'
import { keepsUser } from './keeps-user.ts'
import { type Call, type FunctionNode, isUserMember, type Node, nodesIn, peel } from './nodes.ts'
import type { ContextMember } from './read-context.ts'
import { type Guard, readGuard } from './read-guard.ts'
import { readProcedures, type State, type Value } from './read-procedures.ts'
import { readsOf } from './reads.ts'
import type { Reader } from './rewrite-reads.ts'
import { type Found, lineOf, type Source } from './source.ts'

export interface Moves {
  evaluate(node: Node, source: Source): Value | null
  readonly middlewares: Map<FunctionNode, Reader>
  /** The hand-written guards that have a name, and were replaced somewhere. */
  readonly replaced: Set<FunctionNode>
  /** By file, what it must import. */
  readonly imports: Map<Source, Set<string>>
}

interface MoveOptions {
  readonly members: readonly ContextMember[]
  readonly findings: Findings
  readonly trustsContext: boolean
}

const OURS: Readonly<Record<string, State>> = {
  sessionMiddleware: 'guarded',
  sensitiveSessionMiddleware: 'guarded',
  createSensitiveSessionMiddleware: 'guarded',
}

/** Returns an evaluator that replaces the guards it comes across. */
export function moveGuards({ members, findings, trustsContext }: MoveOptions): Moves {
  const middlewares: Moves['middlewares'] = new Map()
  const replaced: Moves['replaced'] = new Set()
  const imports: Moves['imports'] = new Map()
  const evaluate = readProcedures(use)
  return { evaluate, middlewares, replaced, imports }

  function use(call: Call, source: Source, before: State): State {
    const [argument] = call.arguments
    const value = argument === undefined ? null : evaluate(argument, source)
    if (argument !== undefined && value?.kind === 'function')
      return useFunction(value, { call, argument, source, before })
    if (value?.kind === 'ours') {
      const isOptional = value.name === 'optionalSessionMiddleware' && before === 'open'
      return OURS[value.name] ?? (isOptional ? 'optional' : before)
    }
    findings.leave(
      source,
      argument ?? call,
      'uses a middleware that the codemod cannot find. It may set the user, so the code after it stays.',
    )
    return 'unknown'
  }

  interface Used {
    readonly call: Call
    readonly argument: Node
    readonly source: Source
    readonly before: State
  }

  function useFunction({ fn, source }: { fn: FunctionNode; source: Source }, used: Used): State {
    const { before } = used
    const guard = readGuard(source, fn)
    const isInline = peel(used.argument) === fn
    middlewares.set(fn, { source, fn, state: isInline ? before : 'unknown' })
    if ('roles' in guard) {
      const reason = whyNot(guard, used)
      if (reason === null) {
        replace(guard, used)
        if (!isInline) replaced.add(fn)
        return 'guarded'
      }
      findings.leave(source, fn, reason)
      return 'unknown'
    }
    const keeps = keepsUser(source, fn)
    if (keeps && (before === 'guarded' || !readsUser(source, fn))) {
      if (before !== 'guarded' && rejectsCalls(fn))
        findings.leave(source, fn, 'this middleware rejects calls for a reason that is not in ctx. It stays.')
      return before
    }
    if (keeps || readsUser(source, fn))
      findings.leave(source, guard.at, `the middleware ${guard.reason}. It stays.`)
    else findings.leave(source, fn, 'the middleware may set the user, so the code after it stays.')
    return 'unknown'
  }

  function whyNot({ members: read }: Guard, { call, source, before }: Used): string | null {
    if (before === 'unknown') return 'this guard follows a middleware that may set the user. It stays.'
    const isTaken = ['sessionMiddleware', 'requireRole'].some((name) => {
      const found = source.find(name, call)
      return found !== null && evaluateName(found) !== name
    })
    if (isTaken) return 'this file has its own sessionMiddleware or requireRole. Rename it first.'
    if (before !== 'open' || trustsContext) return null
    const member = [...read].find((name) => members.every((source) => source.name !== name))
    if (member !== undefined)
      return `the codemod found no createContext that sets ctx.${member}. Check what your context verifies, then pass --trust-context.`
    // Also a member that it doesn't read: a session middleware sets both, for all that follows.
    const doubtful = members.find(({ doubt }) => doubt !== null)
    if (doubtful === undefined) return null
    const place = `${doubtful.source.path}:${lineOf(doubtful.source, doubtful.at)}`
    return `ctx.${doubtful.name} may depend on more than the session: ${place} has "${doubtful.doubt}". Move such checks into middlewares, then pass --trust-context.`
  }

  function evaluateName({ source, binding }: Found): string | null {
    if (binding.kind === 'import') return binding.from === '@sallyport/trpc' ? binding.imported : null
    if (binding.kind !== 'value') return null
    const isBound = evaluate(binding.init, source)?.kind === 'bindSession'
    return isBound ? (binding.keys[0] ?? null) : null
  }

  function replace({ roles }: Guard, { call, argument, source, before }: Used): void {
    const quote = /from '/.test(source.text) ? "'" : '"'
    const demands = roles.map((list) => `requireRole(${list.map((role) => quote + role + quote).join(', ')})`)
    const isNeeded = before !== 'guarded' || demands.length === 0
    const [first = '', ...more] = isNeeded ? ['sessionMiddleware', ...demands] : demands
    findings.edit(source, argument, first)
    const added = more.map((demand) => `.use(${demand})`).join('')
    if (added) findings.edit(source, { start: call.end, end: call.end }, added)
    const names = imports.get(source) ?? new Set()
    if (isNeeded) names.add('sessionMiddleware')
    if (demands.length > 0) names.add('requireRole')
    imports.set(source, names)
  }
}

function rejectsCalls(fn: FunctionNode): boolean {
  return [...nodesIn(fn)].some((node) => node.type === 'Literal' && node.value === 'UNAUTHORIZED')
}

function readsUser(source: Source, fn: FunctionNode): boolean {
  return [...readsOf(source, fn)].some(({ keys: [ctx, member] }) => ctx === 'ctx' && isUserMember(member))
}
