import { type Change, readIfExists } from '../init/changes.ts'
import { cleanUp } from './clean-up.ts'
import { Findings } from './findings.ts'
import { leaveOtherReads } from './leave-other-reads.ts'
import { type Moves, moveGuards } from './move-guards.ts'
import { isFunction, memberOf, type Node, nodesIn, peel } from './nodes.ts'
import { readProject } from './project.ts'
import { readContext } from './read-context.ts'
import { type Reader, rewriteReads } from './rewrite-reads.ts'
import type { Source } from './source.ts'

export interface CodemodPlan {
  readonly changes: readonly Change[]
  /** What stays as it is: `file:line: reason`. */
  readonly left: readonly string[]
}

/** Plans what the codemod changes in a folder. Code that it isn't sure of is listed. */
export function planCodemod(folder: string, { trustsContext }: { trustsContext: boolean }): CodemodPlan {
  const { sources, failed } = readProject(folder)
  const findings = new Findings()
  const members = readContext(sources)
  const moves = moveGuards({ members, findings, trustsContext })
  const resolvers = sources.flatMap((source) =>
    [...nodesIn(source.program)].flatMap((node) => resolverIn(moves, source, node) ?? []),
  )
  // Known only now: a guard can be used before the file that declares it was read.
  for (const resolver of resolvers) rewriteReads(resolver, findings)
  for (const middleware of moves.middlewares.values()) {
    const { source, fn, state } = middleware
    if (state === 'guarded' && !findings.isReplaced(source, fn)) rewriteReads(middleware, findings)
  }
  const handled = new Set([...resolvers.map(({ fn }) => fn), ...moves.middlewares.keys()])
  for (const source of sources) {
    leaveOtherReads(source, handled, findings)
    cleanUp(source, moves, findings)
  }
  for (const { source, name, at } of members)
    if (at.type === 'Property')
      findings.leave(
        source,
        at,
        `remove "${name}" from the context, and spread the result of createAuthContext(), or of http() of betterAuthGuard(), instead. Then callbacks and plugins of the old library no longer run.`,
      )
  for (const [path, reason] of failed) findings.leaveFile(path, `can't be parsed: ${reason}`)
  const changes = [...findings.edits.keys()].map((source) => ({
    path: source.path,
    before: readIfExists(source.path),
    after: findings.apply(source),
  }))
  return { changes, left: findings.left }
}

const RUNS = new Set(['query', 'mutation', 'subscription'])

/** Evaluates the procedure of a call, which moves its guards. Returns the function that it runs. */
function resolverIn({ evaluate }: Moves, source: Source, node: Node): Reader | null {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return null
  const method = memberOf(node.callee) ?? ''
  if (method === 'use') evaluate(node, source)
  const [fn] = node.arguments
  if (!RUNS.has(method) || fn === undefined || !isFunction(fn)) return null
  const procedure = evaluate(node.callee.object, source)
  if (procedure?.kind === 'procedure') return { source, fn, state: procedure.state }
  // A builder that was not found, by its name.
  return procedure === null && /procedure$/i.test(rootName(node.callee.object))
    ? { source, fn, state: 'unknown' }
    : null
}

function rootName(given: Node): string {
  const node = peel(given)
  if (node.type === 'CallExpression') return rootName(node.callee)
  if (node.type === 'MemberExpression')
    return node.object.type === 'Identifier' ? node.object.name : rootName(node.object)
  return node.type === 'Identifier' ? node.name : ''
}
