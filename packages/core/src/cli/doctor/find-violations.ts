import type { AppFiles } from './app-files.ts'
import type { Builders } from './find-builders.ts'
import type { ModuleGraph } from './module-graph.ts'
import { shortestChain } from './shortest-chain.ts'

/** The ways to break the rule of the auth definition, and how to mend each. */
const FIXES = {
  'shared-module':
    'Every procedure module imports the first file, so all of them carry the auth definition. Use getSession(ctx) of generated/session.ts there; build what needs getAuth(ctx) in the module of the action builder.',
  'session-file':
    'generated/session.ts is for modules that must not carry the auth definition. Run "sallyport generate": it writes that file with an import of types alone.',
  'other-builder':
    'The first file exports procedure builders, and of those modules that of the action builder alone may bring getAuth in. Move the builders to a module of their own, or to that one.',
  'procedure-module':
    'A procedure module that needs getAuth imports it from generated/auth.ts itself, or is built from the action builder. Take getAuth out of the second file: let it be given what getAuth(ctx) returned.',
  'definition-import':
    'Of the modules that procedures reach, generated/auth.ts alone may import the auth definition. Use getAuth(ctx) in place of that import, or import its type only.',
} as const

/** One way by which the auth definition gets where it must not be. */
export interface Violation {
  readonly rule: keyof typeof FIXES
  /** From the module that must not carry it, import by import. */
  readonly chain: readonly string[]
  /** How to mend it. */
  readonly fix: string
}

/** Judges the modules of an app. Each fault is told once, where it comes in. */
export function findViolations({
  files: { procedures, action, auth, generatedAuth, generatedSession },
  graph,
  builders: { builderModules, procedureModules },
}: {
  files: AppFiles
  graph: ModuleGraph
  builders: Builders
}): Violation[] {
  const heavy = setOf([auth, generatedAuth])
  const otherBuilders = setOf([...builderModules].filter((file) => file !== action && file !== procedures))
  // What comes in through one of these is told of there.
  const judged = setOf([procedures, ...otherBuilders, ...procedureModules])
  const violations: Violation[] = []

  function forbid(
    rule: keyof typeof FIXES,
    from: string | null,
    { to = heavy, around = new Set() }: { to?: ReadonlySet<string>; around?: ReadonlySet<string> } = {},
  ): void {
    const chain = from === null ? null : shortestChain(from, to, { graph, around })
    if (chain !== null) violations.push({ rule, chain, fix: FIXES[rule] })
  }

  forbid('shared-module', procedures)
  forbid('session-file', generatedSession)
  for (const file of otherBuilders) forbid('other-builder', file, { around: judged })

  const mayCarryIt = (file: string) =>
    graph.importsOf(file).some((imported) => imported === generatedAuth || imported === action)
  for (const file of procedureModules) {
    if (!mayCarryIt(file)) forbid('procedure-module', file, { around: judged })
  }

  const carriers = [...[...procedureModules].filter(mayCarryIt), action]
  const gate = setOf([...judged, action, generatedAuth])
  for (const file of carriers) forbid('definition-import', file, { to: setOf([auth]), around: gate })
  return violations
}

function setOf(files: Iterable<string | null>): ReadonlySet<string> {
  return new Set([...files].filter((file) => file !== null))
}
