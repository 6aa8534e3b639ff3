import type {
  AnyTRPCMutationProcedure,
  AnyTRPCQueryProcedure,
  AnyTRPCRouter,
  inferProcedureInput,
  inferTransformedProcedureOutput,
  TRPCRouterRecord,
} from '@trpc/server'

/** The key of the path in a {@link FunctionReference}. */
export const functionPath: unique symbol = Symbol.for('sallyport.functionPath') as never

/** An internal function by its path. */
export interface FunctionReference<Type extends 'query' | 'mutation', Input, Output> {
  /** @internal */
  readonly [functionPath]: string
  /** For the types only. Always undefined. */
  readonly types?: { readonly type: Type; readonly input: Input; readonly output: Output } | undefined
}

/** The references to the functions of a router, by name. */
export type FunctionsOf<Router extends AnyTRPCRouter> = ReferencesOf<Router['_def']['record']>

type ReferencesOf<Record extends TRPCRouterRecord> = {
  readonly [Name in keyof Record]: Record[Name] extends AnyTRPCQueryProcedure | AnyTRPCMutationProcedure
    ? ReferenceTo<Record[Name]>
    : Record[Name] extends TRPCRouterRecord
      ? ReferencesOf<Record[Name]>
      : never
}

/** Results cross as JSON, so a `Date` becomes text. */
type ReferenceTo<Procedure extends AnyTRPCQueryProcedure | AnyTRPCMutationProcedure> = FunctionReference<
  Procedure['_def']['type'],
  inferProcedureInput<Procedure>,
  inferTransformedProcedureOutput<{ transformer: false; errorShape: unknown }, Procedure>
>

/**
 * Returns references to the functions of a router. Import only the type of the router, so nothing of it is loaded.
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
      // Awaiting or printing a reference must not create another.
      if (typeof name === 'symbol' || name === 'then') return undefined
      return referenceTo(path === '' ? name : `${path}.${name}`)
    },
  })
}
