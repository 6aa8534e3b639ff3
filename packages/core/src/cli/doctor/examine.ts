import { relative, sep } from 'node:path'
import pLimit from 'p-limit'
import type { AppFiles } from './app-files.ts'
import { type BundleSize, bundleSize } from './bundle-size.ts'
import { type Builders, findBuilders } from './find-builders.ts'
import { findViolations, type Violation } from './find-violations.ts'
import { readModuleGraph } from './module-graph.ts'
import { shortestChain } from './shortest-chain.ts'

/** What a module is to the rule of the auth definition. */
export type Role =
  /** The module with the builders that every procedure module imports. */
  | 'shared'
  /** `generated/session.ts`. */
  | 'session'
  /** Another module that exports builders. */
  | 'builder'
  /** The one builder module that may import `getAuth`. */
  | 'action'
  /** A module that makes procedures. */
  | 'procedures'

/** What there is to know about one module. Files are relative to the folder of the app. */
export interface ModuleReport extends BundleSize {
  readonly file: string
  readonly role: Role
  readonly carriesDefinition: boolean
  /** The imports that bring the auth definition in, from this module on; empty where it stays out. */
  readonly chain: readonly string[]
}

/** What `sallyport doctor` found. */
export interface DoctorReport {
  readonly modules: readonly ModuleReport[]
  readonly violations: readonly Violation[]
}

const BUNDLES_AT_ONCE = 4

/** Reads the modules of an app and judges them by the rule of the auth definition (spec section 1). */
export async function examine(files: AppFiles): Promise<DoctorReport> {
  const { root, entry, procedures, action, auth, generatedSession } = files
  const entries = present([entry, procedures, action, generatedSession])
  const isOwn = (file: string) => file.startsWith(root + sep) && !/[\\/]node_modules[\\/]/.test(file)
  const graph = await readModuleGraph(entries, { root, isOwn })
  // The entry puts everything together, and the definition is what the rule is about.
  const exempt = new Set(present([entry, auth]))
  const builders = without(findBuilders(graph, new Set(present([procedures, action]))), exempt)

  const roles = new Map<string, Role>()
  for (const file of builders.procedureModules) roles.set(file, 'procedures')
  for (const file of builders.builderModules) roles.set(file, 'builder')
  if (generatedSession !== null) roles.set(generatedSession, 'session')
  if (procedures !== null) roles.set(procedures, 'shared')
  if (action !== null) roles.set(action, 'action')

  const name = (file: string) => relative(root, file).replaceAll('\\', '/')
  const limit = pLimit(BUNDLES_AT_ONCE)
  const modules = [...roles].map(([file, role]) =>
    limit(async (): Promise<ModuleReport> => {
      const chain = (auth !== null && shortestChain(file, new Set([auth]), { graph })) || []
      return {
        file: name(file),
        role,
        carriesDefinition: chain.length > 0,
        chain: chain.map(name),
        ...(await bundleSize(file, root)),
      }
    }),
  )
  const violations = findViolations({ files, graph, builders })
  return {
    modules: (await Promise.all(modules)).sort(byRoleAndFile),
    violations: violations
      .map((violation) => ({ ...violation, chain: violation.chain.map(name) }))
      .sort((a, b) => compare(a.chain.join('\n'), b.chain.join('\n'))),
  }
}

function without({ builderModules, procedureModules }: Builders, exempt: ReadonlySet<string>): Builders {
  const rest = (files: ReadonlySet<string>) => new Set([...files].filter((file) => !exempt.has(file)))
  return { builderModules: rest(builderModules), procedureModules: rest(procedureModules) }
}

const ORDER: readonly Role[] = ['shared', 'session', 'builder', 'action', 'procedures']

function byRoleAndFile(a: ModuleReport, b: ModuleReport): number {
  return ORDER.indexOf(a.role) - ORDER.indexOf(b.role) || compare(a.file, b.file)
}

/** By code units: the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function present(files: readonly (string | null)[]): string[] {
  return files.filter((file) => file !== null)
}
