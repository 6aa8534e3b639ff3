import type {
  AnyTRPCMutationProcedure,
  AnyTRPCProcedure,
  AnyTRPCQueryProcedure,
  AnyTRPCRouter,
  inferProcedureInput,
  inferTransformedProcedureOutput,
  TRPCRouterRecord,
} from '@trpc/server'
import { type FunctionReference, functionPath } from './runner.ts'

/** The functions of a router by their names; see {@link functionsOf}. */
export type FunctionsOf<Router extends AnyTRPCRouter> = ReferencesOf<Router['_def']['record']>

type ReferencesOf<Record extends TRPCRouterRecord> = {
  readonly [Name in keyof Record]: Record[Name] extends AnyTRPCProcedure
    ? ReferenceTo<Record[Name]>
    : Record[Name] extends TRPCRouterRecord
      ? ReferencesOf<Record[Name]>
      : never
}

/** What crosses is JSON, so a `Date` arrives as text. */
type ReferenceTo<Procedure extends AnyTRPCProcedure> = Procedure extends AnyTRPCQueryProcedure
  ? FunctionReference<'query', inferProcedureInput<Procedure>, JsonOutput<Procedure>>
  : Procedure extends AnyTRPCMutationProcedure
    ? FunctionReference<'mutation', inferProcedureInput<Procedure>, JsonOutput<Procedure>>
    : never

type JsonOutput<Procedure extends AnyTRPCProcedure> = inferTransformedProcedureOutput<
  { transformer: false; errorShape: unknown },
  Procedure
>

/**
 * References to the functions of a router, of which only the type is needed: nothing of the router is loaded.
 *
 * @example
 * const internal = functionsOf<InternalRouter>()
 * await ctx.runMutation(internal.report.save, { title }, { idempotencyKey })
 */
export function functionsOf<Router extends AnyTRPCRouter>(): FunctionsOf<Router> {
  return referenceTo('') as FunctionsOf<Router>
}

function referenceTo(path: string): object {
  return new Proxy(Object.freeze({}), {
    get(_target, name) {
      if (name === functionPath) return path
      // Awaiting one, or printing it, must not make another.
      if (typeof name === 'symbol' || name === 'then') return undefined
      return referenceTo(path === '' ? name : `${path}.${name}`)
    },
  })
}
