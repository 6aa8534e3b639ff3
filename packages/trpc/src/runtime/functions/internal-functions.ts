import type { AuthConfig, AuthStore, Identity, Session } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import {
  authStore,
  burnToken,
  isUnavailable,
  runOnce,
  type ServiceClaims,
  safeListener,
  validateIdentity,
} from '@sallyport/core/internal/server'
import { type AnyTRPCRouter, callTRPCProcedure, type inferRouterContext } from '@trpc/server'
import type { CallBody } from '../call/call-body.ts'
import { type CallLimits, checkLimits } from '../call/call-limits.ts'
import { type CallOutcome, describeError, OUTCOME } from '../call/call-outcome.ts'
import { CallRefusal, isCallRefusal } from '../call/call-refusal.ts'
import { functionTypes } from './function-types.ts'
import { createOwnFunctions, type EndpointsSource, type HasDatabase } from './own-functions.ts'

/** What an internal function knows of who acts; all of it is null where nobody does. */
export interface ActingUser {
  readonly identity: Identity | null
  /** As Step 2 has just read it. */
  readonly session: Session | null
  readonly user: Session['user'] | null
}

/** What {@link defineInternalFunctions} takes. */
export interface InternalFunctionsOptions<Router extends AnyTRPCRouter>
  extends Pick<CallLimits, 'maxResponseBytes'> {
  /** The functions: procedures of a router of their own, which no public handler serves. */
  readonly router: Router
  /** What every call gets besides {@link ActingUser}. */
  readonly createContext: () => MaybePromise<Omit<inferRouterContext<Router>, keyof ActingUser> & HasDatabase>
  readonly config: AuthConfig
  /** The `getAuth` of the generated `auth.ts`: actions reach the auth endpoints through it. Without one there are none. */
  readonly getAuth?: EndpointsSource
  /** Is told of every failure of a function that was not thrown on purpose. @default console.error */
  readonly onError?: (error: unknown, call: { readonly path: string }) => void
}

type MaybePromise<Value> = Value | Promise<Value>

/** One call that has come to where the functions are. */
export interface ArrivedCall extends CallBody {
  readonly actor: Identity | null
  readonly idempotencyKey: string | null
  /** Of the very bytes that came; see `digestBody`. */
  readonly bodyDigest: string
  /** The service JWT that came with it. None where it has not left the process. */
  readonly token: Pick<ServiceClaims, 'service' | 'id' | 'expiresAt'> | null
  /** Tells the function that nobody waits for it any more. */
  readonly signal: AbortSignal | undefined
}

/** The registered internal functions, for `localRunner` and `createInternalHandler`. */
export interface InternalFunctions {
  readonly config: AuthConfig
  /**
   * Runs a function once its token is used up and Step 2 has let the acting user in.
   *
   * @returns the `CallOutcome` as JSON
   * @throws CallRefusal when it was not run, or when nobody can say whether it was
   */
  execute(call: ArrivedCall): Promise<string>
}

/**
 * Registers the internal functions of an app: what an action does in the database, in this process or in another one.
 *
 * @example
 * export const internalFunctions = defineInternalFunctions({
 *   router: internalRouter,
 *   createContext: () => ({ db }),
 *   config: authConfig,
 *   getAuth,
 * })
 * @throws ConfigurationError when the router has subscriptions, lazy routers, or names of ours, or the limit cannot work
 */
export function defineInternalFunctions<Router extends AnyTRPCRouter>({
  router,
  createContext,
  config,
  getAuth,
  onError = (error, { path }) => console.error(`The internal function ${path} failed:`, error),
  ...limits
}: InternalFunctionsOptions<Router>): InternalFunctions {
  const { maxResponseBytes } = checkLimits(limits)
  const types = functionTypes(router)
  const own = createOwnFunctions({ config, getAuth })
  const tell = safeListener(onError)

  function isFunction({ path, type }: CallBody): boolean {
    return own.has(path, type) || types.get(path) === type
  }

  async function execute(call: ArrivedCall): Promise<string> {
    if (!isFunction(call)) throw new CallRefusal('FUNCTION_NOT_FOUND')
    try {
      return await admit(call)
    } catch (error) {
      return refuse(error)
    }
  }

  /** What can be decided is the outcome; what cannot is none. */
  function refuse(error: unknown): string {
    if (isCallRefusal(error)) throw error
    const described = isUnavailable(error) ? null : describeError(error)
    if (described !== null)
      return JSON.stringify({ sallyport: OUTCOME, ok: false, error: described } satisfies CallOutcome)
    throw new CallRefusal('UNDECIDED', { cause: error })
  }

  async function admit(call: ArrivedCall): Promise<string> {
    const context: HasDatabase = await createContext()
    const store = storeIn(context)
    if (!(await useUp(call, store))) throw new CallRefusal('TOKEN_REPLAYED')
    const acting = await recheck(call.actor, store)
    // Nobody waits for it, so it need not begin.
    call.signal?.throwIfAborted()
    const run = () => outcomeOf(call, () => invoke(call, { ...context, ...acting }))
    const { idempotencyKey } = call
    return idempotencyKey === null ? run() : once({ ...call, idempotencyKey }, { store, run })
  }

  /** A query changes nothing, so it is enough that the listener takes no token twice. */
  async function useUp({ type, token }: ArrivedCall, store: AuthStore): Promise<boolean> {
    return token === null || type === 'query' || burnToken(databaseOf(store), token)
  }

  /** Step 2 for the acting user, on every call: whoever called may have been wrong about them since. */
  async function recheck(identity: Identity | null, { sessions }: AuthStore): Promise<ActingUser> {
    if (identity === null) return { identity, session: null, user: null }
    const session = await validateIdentity(identity, { config, sessions })
    return { identity, session, user: session.user }
  }

  async function once(
    { path, actor, bodyDigest, idempotencyKey, token }: ArrivedCall & { readonly idempotencyKey: string },
    { store, run }: { store: AuthStore; run: () => Promise<string> },
  ): Promise<string> {
    if (own.has(path, 'mutation')) {
      throw new ConfigurationError(
        `${path} takes no idempotency key: its answer may hold secrets, and is stored nowhere`,
      )
    }
    const userId = actor?.userId ?? null
    const told = (error: unknown) => onError(error, { path })
    const service = token?.service ?? null
    const now = config.now()
    const repeatable = { idempotencyKey, path, bodyDigest, service, userId, now, onError: told }
    const outcome = await runOnce(databaseOf(store), repeatable, run)
    if (outcome.state === 'done') return outcome.result
    throw new CallRefusal(outcome.state === 'conflict' ? 'KEY_REUSED' : 'UNDECIDED')
  }

  function invoke(call: ArrivedCall, ctx: HasDatabase & ActingUser): Promise<unknown> {
    const { path, type, input, signal } = call
    if (own.has(path, type)) return own.run(call, ctx)
    return callTRPCProcedure({
      router,
      path,
      type,
      ctx,
      getRawInput: async () => input,
      signal,
      batchIndex: 0,
    })
  }

  /** Never rejects: by now something may have been done. */
  async function outcomeOf({ path }: ArrivedCall, run: () => Promise<unknown>): Promise<string> {
    try {
      const text = JSON.stringify({
        sallyport: OUTCOME,
        ok: true,
        result: requireJson(await run()),
      } satisfies CallOutcome)
      if (new TextEncoder().encode(text).byteLength <= maxResponseBytes) return text
      throw new RangeError(`The answer of an internal function has more than ${maxResponseBytes} bytes`)
    } catch (error) {
      const described = describeError(error)
      if (described === null) tell(error, { path })
      return JSON.stringify({
        sallyport: OUTCOME,
        ok: false,
        error: described ?? FAILED,
      } satisfies CallOutcome)
    }
  }

  return { config, execute }
}

const FAILED = {
  kind: 'function',
  code: 'INTERNAL_SERVER_ERROR',
  message: 'The internal function failed',
} as const

/** @throws ConfigurationError where the types were passed over and the context has no store */
function storeIn({ db }: HasDatabase): AuthStore {
  const store = db?.[authStore]
  if (store !== undefined) return store
  throw new ConfigurationError(
    'internal functions: createContext must return the db of openSqlite() or openPostgres(), or withAuthStore(db, store)',
  )
}

/** @throws ConfigurationError where another library has the database */
function databaseOf({ database }: AuthStore): NonNullable<AuthStore['database']>['db'] {
  if (database !== undefined) return database.db
  throw new ConfigurationError(
    'internal functions: mutations need the db of openSqlite() or openPostgres(), where the tables of service calls are',
  )
}

/** A stream would cross as an empty object. */
function requireJson(result: unknown): unknown {
  const isStream = typeof result === 'object' && result !== null && Symbol.asyncIterator in result
  if (isStream) throw new TypeError('An internal function answered with a stream')
  return result
}
